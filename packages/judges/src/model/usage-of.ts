import type { ModelClient, ModelUsage } from '@agentjet/model-client';

/** The usage of a client so far. Zeros if the client does not count it. */
export function usageOf({ usage }: ModelClient): ModelUsage {
  return usage ?? { calls: 0, promptTokens: 0, completionTokens: 0 };
}
