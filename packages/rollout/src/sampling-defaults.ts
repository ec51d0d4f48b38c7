import type { CommonConfig } from '@agentjet/core';
import type { SamplingDefaults } from './contract.js';

/** The settings of an episode whose model is called elsewhere. They have no effect. */
export const sampledElsewhere: SamplingDefaults = { temperature: 1, topP: 1, topK: -1, maxTokens: 1 };

/** Returns the sampling settings of training episodes, for requests that do not set them. */
export function samplingDefaults({ rollout }: CommonConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}

/** Returns the sampling settings of a place of an evaluation. Places after `val_pass_n` are sampled as in training. */
export function samplingOfPlace(config: CommonConfig, place: number): SamplingDefaults {
  return place < config.trainerCommon.valPassN ? evaluationSampling(config) : samplingDefaults(config);
}

/** Returns the sampling settings of evaluation episodes, for requests that do not set them. */
function evaluationSampling({ rollout }: CommonConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout.valKwargs;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}
