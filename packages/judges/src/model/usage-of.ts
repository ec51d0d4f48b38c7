import type { ModelClient, ModelUsage } from '@agentjet/model-client';

/** What a client has asked so far; zeros for one that does not count. */
export function usageOf({ usage }: ModelClient): ModelUsage {
  return usage ?? { calls: 0, promptTokens: 0, completionTokens: 0 };
}
