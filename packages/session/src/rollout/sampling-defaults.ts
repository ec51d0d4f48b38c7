import type { CommonConfig } from '@agentjet/core';
import type { SamplingDefaults } from '@agentjet/rollout';

/** How training episodes sample if a request does not say. */
export function samplingDefaults({ rollout }: CommonConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}

/** How evaluation episodes sample if a request does not say. */
export function evaluationSampling({ rollout }: CommonConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout.valKwargs;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}
