import type { AgentJetConfig } from '@agentjet/core';
import type { SamplingDefaults } from '@agentjet/rollout';

/** How training episodes sample where a request does not say. */
export function samplingDefaults({ rollout }: AgentJetConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}

/** How evaluation episodes sample where a request does not say. */
export function evaluationSampling({ rollout }: AgentJetConfig): SamplingDefaults {
  const { temperature, topP, topK } = rollout.valKwargs;
  return { temperature, topP, topK, maxTokens: rollout.maxResponseLengthInOneTurn };
}
