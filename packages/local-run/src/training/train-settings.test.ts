import { createGrpo, createReinforce, createSft } from '@agentjet/trainer';
import { describe, expect, it } from 'vitest';
import type { CommonConfig } from '@agentjet/core';
import { createConfig, type ConfigInput } from '@agentjet/inputs/testing';
import { toOptimizerOptions, toTrainSettings } from './train-settings.js';

const settingsOf = (config: CommonConfig) => toTrainSettings(config, createGrpo());

describe('what the trainer gets from the names of the YAML', () => {
  it('the loss', () => {
    const { loss } = settingsOf(
      createConfig({
        trainerCommon: { clipRatioLow: 0.1, clipRatioHigh: 0.3, klLossCoef: 0.01, useKlLoss: true },
        rollout: { temperature: 0.7 },
      }),
    );
    expect(loss).toEqual({
      kind: 'policy',
      clipLow: 0.1,
      clipHigh: 0.3,
      dualClip: 3,
      klCoef: 0.01,
      klEstimator: 'k3',
      entropyCoef: 0,
      temperature: 0.7,
    });
  });

  it('no KL term unless it is asked for; greedy answers carry logprobs at temperature 1; sft has its own loss', () => {
    expect(settingsOf(createConfig({ rollout: { temperature: 0 } })).loss).toMatchObject({
      klCoef: 0,
      temperature: 1,
    });
    expect(toTrainSettings(createConfig(), createSft()).loss).toEqual({
      kind: 'sft',
    });
  });

  it('one truncated correction of tokens, for both keys that ask for it', () => {
    const correction = { level: 'token', mode: 'truncate', lower: 0, upper: 2 };
    for (const trainerCommon of [{ tisCap: 2 }, { rolloutIsThreshold: 2, rolloutIsMode: 'truncate' }] as const)
      expect(settingsOf(createConfig({ trainerCommon })).loss).toMatchObject({ correction });
  });

  it('packing, limits and intervals', () => {
    const config = createConfig({
      data: { maxPromptLength: 100, maxResponseLength: 50, overlongSamplePolicy: 'truncate' },
      trainerCommon: {
        lossAggMode: 'seq-mean-token-mean',
        lossWeighting: 'row',
        maxPackTokens: 512,
        saveFreq: 3,
        testFreq: 5,
        maxCheckpoints: 2,
        miniBatchNum: 4,
        ppoEpochs: 2,
      },
    });
    expect(settingsOf(config)).toMatchObject({
      packing: { maxPackTokens: 512, weighting: 'row', normalization: 'sequence' },
      lengthLimit: { maxSampleTokens: 150, policy: 'truncate' },
      saveEvery: 3,
      evaluateEvery: 5,
      maxCheckpoints: 2,
      numMiniBatches: 4,
      numEpochs: 2,
      maxStaleness: 0,
      whitenAdvantages: false,
    });
  });

  it('sums of episodes over a constant length: the one given, or the longest response', () => {
    const normalizationOf = (trainerCommon: ConfigInput['trainerCommon']) =>
      settingsOf(
        createConfig({
          data: { maxResponseLength: 300 },
          trainerCommon: { lossAggMode: 'seq-mean-token-sum-norm', ...trainerCommon },
        }),
      ).packing.normalization;
    expect(normalizationOf({})).toEqual({ constantLength: 300 });
    expect(normalizationOf({ lossScaleFactor: 128 })).toEqual({ constantLength: 128 });
  });

  it('whitening, and how far sampling may run ahead', () => {
    const config = createConfig({
      trainerCommon: { maxStaleness: 2, algorithm: { advEstimator: 'reinforce', whitenAdvantages: true } },
    });
    expect(toTrainSettings(config, createReinforce())).toMatchObject({
      maxStaleness: 2,
      whitenAdvantages: true,
      algorithm: { name: 'reinforce' },
    });
  });

  it('the optimizer, whose schedule counts its own steps', () => {
    const config = createConfig({
      trainerCommon: {
        miniBatchNum: 2,
        ppoEpochs: 3,
        optim: { lr: 1e-4, lrSchedulerType: 'cosine', lrWarmupSteps: 5, gradClip: 0.5 },
      },
    });
    expect(toOptimizerOptions(config, 10)).toEqual({
      learningRate: 1e-4,
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0.01,
      maxGradNorm: 0.5,
      schedule: 'cosine',
      warmupSteps: 5,
      totalSteps: 60,
    });
  });

  it.each([
    [{ lrWarmupSteps: 12 }, '"trainer_common.optim.lr_warmup_steps" 12 leaves no step at the full rate'],
    [{ lrWarmupStepsRatio: 1 }, '"trainer_common.optim.lr_warmup_steps_ratio" 1 leaves no step at the full rate'],
    [
      { lrSchedulerType: 'warmup_stable_decay', lrWsdDecaySteps: 13 },
      '"trainer_common.optim.lr_wsd_decay_steps" 13 and a warm-up of 0 steps are more than the 12 optimizer steps',
    ],
    [
      { lrSchedulerType: 'warmup_stable_decay', lrWsdDecaySteps: 8, lrWarmupSteps: 5 },
      'and a warm-up of 5 steps are more than the 12 optimizer steps',
    ],
  ] as const)('a schedule that does not fit into the steps of the run is refused: %j', (optim, message) => {
    const config = createConfig({ trainerCommon: { miniBatchNum: 2, optim } });
    expect(() => toOptimizerOptions(config, 6)).toThrow(message);
    expect(toOptimizerOptions(config, 0).totalSteps).toBe(0);
  });
});
