/** Sums over the micro-batches of one optimizer step, and computes metrics from the sums. */

import type { LossOptions, TrainBatch, TrainStepMetrics } from '@agentjet/core';
import type { TrainingOutputs } from './graph-runner.js';
import type { MicrobatchArrays } from './microbatch-arrays.js';

export type StepSums = {
  loss: number;
  numTerms: number;
  weight: number;
  entropy: number;
  kl: number;
  numClipped: number;
  gap: number;
  gapMax: number;
  numLeftOut: number;
};

export function emptySums(): StepSums {
  return { loss: 0, numTerms: 0, weight: 0, entropy: 0, kl: 0, numClipped: 0, gap: 0, gapMax: 0, numLeftOut: 0 };
}

/** Returns the sums with one more micro-batch. */
export function addMicrobatch(
  sums: StepSums,
  arrays: MicrobatchArrays,
  { outputs, loss }: { readonly outputs: TrainingOutputs; readonly loss: LossOptions },
): StepSums {
  const next = { ...sums, loss: sums.loss + outputs.loss };
  for (const [term, pair] of arrays.termPairs.entries()) {
    if (arrays.termsLeftOut[term] === 1) {
      next.numLeftOut += 1;
      continue;
    }
    next.numTerms += 1;
    const weight = arrays.termWeights[term] ?? 0;
    next.weight += weight;
    next.entropy += weight * (outputs.entropies[arrays.pairRows[pair] ?? 0] ?? 0);
    if (loss.kind === 'sft') continue;
    const change = (outputs.logprobs[pair] ?? 0) - (arrays.termLogprobs[term] ?? 0);
    next.kl += weight * (outputs.kl?.[pair] ?? 0);
    next.gap += Math.abs(change);
    next.gapMax = Math.max(next.gapMax, Math.abs(change));
    if (isClipped(Math.exp(change), arrays.termAdvantages[term] ?? 0, loss)) next.numClipped += 1;
  }
  return next;
}

/** Returns whether clipping removed the policy gradient of the term. */
export function isClipped(ratio: number, advantage: number, loss: LossOptions): boolean {
  if (loss.kind === 'sft') return false;
  const { clipLow, clipHigh, dualClip } = loss;
  if (advantage > 0) return ratio > 1 + clipHigh;
  if (advantage < 0) return ratio < 1 - clipLow || (dualClip > 0 && ratio > dualClip);
  return false;
}

/** The metrics of a step. This engine always reports the gradient norm. */
export type OnnxStepMetrics = TrainStepMetrics & { readonly gradNorm: number };

export type OptimizerResult = {
  readonly sums: StepSums;
  readonly gradNorm: number;
  readonly learningRate: number;
  readonly policyVersion: number;
};

export function stepMetrics(
  { packs }: Pick<TrainBatch, 'packs'>,
  { sums, gradNorm, learningRate, policyVersion }: OptimizerResult,
): OnnxStepMetrics {
  const perWeight = (sum: number): number => (sums.weight === 0 ? 0 : sum / sums.weight);
  const perTerm = (sum: number): number => (sums.numTerms === 0 ? 0 : sum / sums.numTerms);
  return {
    loss: sums.loss,
    gradNorm,
    entropy: perWeight(sums.entropy),
    kl: perWeight(sums.kl),
    clipFraction: perTerm(sums.numClipped),
    logprobGapMax: sums.gapMax,
    logprobGapMean: perTerm(sums.gap),
    learningRate,
    policyVersion,
    trainedTokens: sums.numTerms,
    ...(packs.some(({ terms }) => terms.kept !== undefined) && { tokensOutsideSupport: sums.numLeftOut }),
    rowTokens: packs.reduce((total, pack) => total + pack.rowTokens, 0),
    treeTokens: packs.reduce((total, pack) => total + countTokens(pack), 0),
  };
}

/**
 * Counts tokens that are not padding. A padding token has id 0, has no parent and no children, and predicts no token.
 */
function countTokens({ ids, ends, positions, predictors }: TrainBatch['packs'][number]): number {
  const isSupervised = new Uint8Array(ids.length);
  for (const predictor of predictors) isSupervised[predictor] = 1;
  let count = ids.length;
  for (let token = 0; token < ids.length; token++) {
    if (ids[token] === 0 && positions[token] === 0 && ends[token] === token + 1 && isSupervised[token] === 0) count--;
  }
  return count;
}
