import type { Backbone, Engine, TrainBatch, TrainStepMetrics } from '@agentjet/core';

/** Counts the terms of all packs of a batch, rows included. */
function countTerms({ packs }: TrainBatch): number {
  return packs.reduce((sum, { terms }) => sum + terms.weights.length, 0);
}

/** Makes a backbone whose weights never change. It only sees what a step would train. */
export function createStillBackbone(engine: Engine, modelDir: string): Backbone {
  const trainStep = (batch: TrainBatch): Promise<TrainStepMetrics> =>
    Promise.resolve({
      loss: 0,
      gradNorm: 0,
      entropy: 0,
      kl: 0,
      clipFraction: 0,
      logprobGapMax: 0,
      logprobGapMean: 0,
      learningRate: 0,
      policyVersion: 0,
      trainedTokens: countTerms(batch),
      rowTokens: batch.packs.reduce((sum, { rowTokens }) => sum + rowTokens, 0),
      treeTokens: batch.packs.reduce((sum, { ids }) => sum + ids.length, 0),
    });
  return {
    engine,
    capabilities: { takes: 'packs', repeatsSeed: true, reportsGradNorm: true, losses: ['policy'], streams: true },
    modelDir,
    policyVersion: 0,
    trainStep,
    logprobs: (rows) => Promise.resolve(rows.map(({ ids }) => new Float32Array(ids.length))),
    save: () => Promise.resolve(),
    load: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
