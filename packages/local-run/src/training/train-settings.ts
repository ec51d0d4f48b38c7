import {
  ConfigError,
  countOf,
  truncationOf,
  type Algorithm,
  type CommonConfig,
  type ImportanceCorrection,
  type LossOptions,
  type OptimizerOptions,
} from '@agentjet/core';
import type { TrainOptions } from '@agentjet/run';
import { smallestModelRate } from './auto-settings.js';
import type { BatchSettings, Normalization } from '@agentjet/trainer';

/** This file makes the trainer's options from the keys of the YAML file. */

const klEstimators = { low_var_kl: 'k3', kl: 'k1', mse: 'k2', k1: 'k1', k2: 'k2', k3: 'k3' } as const;

function toLossOptions({ trainerCommon, rollout }: CommonConfig, algorithm: Algorithm): LossOptions {
  if (algorithm.loss === 'sft') return { kind: 'sft' };
  const truncation = truncationOf(rollout);
  return {
    kind: 'policy',
    clipLow: trainerCommon.clipRatioLow,
    clipHigh: trainerCommon.clipRatioHigh,
    dualClip: trainerCommon.clipRatioC,
    klCoef: trainerCommon.useKlLoss ? trainerCommon.klLossCoef : 0,
    klEstimator: klEstimators[trainerCommon.klLossType],
    entropyCoef: trainerCommon.entropyCoeff,
    // Use 1 for greedy sampling, because the logprobs of greedy answers are those at temperature 1.
    temperature: rollout.temperature === 0 ? 1 : rollout.temperature,
    ...(truncation && { truncation }),
    ...(trainerCommon.lossMode !== 'ppo' && { objective: trainerCommon.lossMode }),
    ...correctionOf(trainerCommon),
  };
}

function correctionOf({
  tisCap,
  rolloutIsThreshold: upper,
  rolloutIsThresholdLower: lower,
  rolloutIsMode: mode,
  rolloutIsLevel: level,
}: CommonConfig['trainerCommon']): { readonly correction?: ImportanceCorrection } {
  if (tisCap > 0) return { correction: { level: 'token', mode: 'truncate', lower: 0, upper: tisCap } };
  return upper > 0 ? { correction: { level, mode, lower, upper } } : {};
}

/**
 * Throws ConfigError `conflict` if warm-up and decay do not fit into the optimizer steps. `totalSteps` is 0 if the
 * number of steps is unknown.
 */
export function toOptimizerOptions({ trainerCommon }: CommonConfig, totalSteps: number): OptimizerOptions {
  const { optim, miniBatchNum, ppoEpochs } = trainerCommon;
  const [beta1, beta2] = optim.betas;
  const numSteps = totalSteps * miniBatchNum * ppoEpochs;
  const warmupSteps = optim.lrWarmupSteps || Math.floor(optim.lrWarmupStepsRatio * numSteps);
  if (numSteps > 0) requireFullRate(optim, { numSteps, warmupSteps });
  return {
    // A run replaces `auto` by a rate for the size of its model. If the size is unknown, `auto` is the rate of the smallest models.
    learningRate: optim.lr === 'auto' ? smallestModelRate : optim.lr,
    beta1,
    beta2,
    epsilon: optim.eps,
    weightDecay: optim.weightDecay,
    maxGradNorm: optim.gradClip,
    schedule: optim.lrSchedulerType,
    warmupSteps,
    totalSteps: numSteps,
    ...(optim.minLrRatio > 0 && { minRateShare: optim.minLrRatio }),
    ...(optim.lrWsdDecaySteps !== null && { decaySteps: optim.lrWsdDecaySteps }),
  };
}

/** Throws if no step would have the full rate, or if the rate had to fall before it has risen. */
function requireFullRate(
  { lrWarmupSteps, lrWarmupStepsRatio, lrWsdDecaySteps, lrSchedulerType }: CommonConfig['trainerCommon']['optim'],
  { numSteps, warmupSteps }: { readonly numSteps: number; readonly warmupSteps: number },
): void {
  const [key, value] =
    lrWarmupSteps > 0 ? ['lr_warmup_steps', lrWarmupSteps] : ['lr_warmup_steps_ratio', lrWarmupStepsRatio];
  if (warmupSteps >= numSteps)
    throw new ConfigError(
      'conflict',
      `"trainer_common.optim.${key}" ${value} leaves no step at the full rate: the run makes ${countOf(numSteps, 'optimizer step')}. Lower it, or train longer.`,
    );
  if (lrSchedulerType !== 'warmup_stable_decay' || warmupSteps + (lrWsdDecaySteps ?? 0) <= numSteps) return;
  throw new ConfigError(
    'conflict',
    `"trainer_common.optim.lr_wsd_decay_steps" ${lrWsdDecaySteps} and a warm-up of ${countOf(warmupSteps, 'step')} are more than the ${countOf(numSteps, 'optimizer step')} of the run. Lower one of them, or train longer.`,
  );
}

type Settings = Pick<
  TrainOptions,
  | 'algorithm'
  | 'whitenAdvantages'
  | 'loss'
  | 'packing'
  | 'lengthLimit'
  | 'maxStaleness'
  | 'numMiniBatches'
  | 'numEpochs'
  | 'shaping'
  | 'masksCutAnswers'
  | 'saveEvery'
  | 'maxCheckpoints'
  | 'evaluateEvery'
>;

function toNormalization({ trainerCommon, data }: CommonConfig): Normalization {
  const { lossAggMode, lossScaleFactor } = trainerCommon;
  if (lossAggMode === 'seq-mean-token-sum') return { constantLength: 1 };
  if (lossAggMode === 'seq-mean-token-sum-norm') return { constantLength: lossScaleFactor ?? data.maxResponseLength };
  return lossAggMode === 'token-mean' ? 'token' : 'sequence';
}

/** Returns the options of `train` that depend on the configuration and the algorithm. */
export function toTrainSettings(config: CommonConfig, algorithm: Algorithm): Settings {
  const { trainerCommon, data } = config;
  return {
    algorithm,
    whitenAdvantages: trainerCommon.algorithm.whitenAdvantages,
    loss: toLossOptions(config, algorithm),
    packing: {
      maxPackTokens: trainerCommon.maxPackTokens,
      weighting: trainerCommon.lossWeighting,
      normalization: toNormalization(config),
    },
    lengthLimit: { maxSampleTokens: data.maxPromptLength + data.maxResponseLength, policy: data.overlongSamplePolicy },
    maxStaleness: trainerCommon.maxStaleness,
    numMiniBatches: trainerCommon.miniBatchNum,
    numEpochs: trainerCommon.ppoEpochs,
    ...shapingOf(config),
    saveEvery: trainerCommon.saveFreq,
    maxCheckpoints: trainerCommon.maxCheckpoints,
    evaluateEvery: trainerCommon.testFreq,
  };
}

/** Returns only the settings of rewards and cut answers that are not the default, so older records stay the same. */
function shapingOf({ trainerCommon, rollout }: CommonConfig): Pick<BatchSettings, 'shaping' | 'masksCutAnswers'> {
  const { algorithm, overlongBuffer, maskTruncatedCompletions } = trainerCommon;
  const { len: buffer, penaltyFactor: factor } = overlongBuffer;
  const maxTokens = rollout.maxResponseLengthInOneTurn;
  const kl = { coef: algorithm.klCoef, estimator: klEstimators[algorithm.klPenalty] };
  const hasShaping = buffer > 0 || algorithm.useKlInReward;
  return {
    ...(hasShaping && {
      shaping: {
        ...(buffer > 0 && { overlong: { maxTokens, buffer, factor } }),
        ...(algorithm.useKlInReward && { kl }),
      },
    }),
    ...(maskTruncatedCompletions && { masksCutAnswers: true }),
  };
}

/**
 * Returns the settings with which a server computes a batch. A sample that is too long never stops the server, because
 * its episode was acknowledged.
 */
export function toBatchSettings(config: CommonConfig, algorithm: Algorithm): BatchSettings {
  const { loss, packing, lengthLimit, numMiniBatches, numEpochs } = toTrainSettings(config, algorithm);
  const { whitenAdvantages } = config.trainerCommon.algorithm;
  const { maxSampleTokens = Infinity, policy = 'drop_episode' } = lengthLimit ?? {};
  return {
    whitenAdvantages,
    loss,
    packing,
    lengthLimit: { maxSampleTokens, policy: policy === 'error' ? 'drop_episode' : policy },
    numMiniBatches: numMiniBatches ?? 1,
    numEpochs: numEpochs ?? 1,
    ...shapingOf(config),
  };
}
