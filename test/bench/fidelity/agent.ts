import type { OpenAIEndpoint, Tuner } from '@agentjet/rollout';

/** One measured framework: its own agent loop, over our native model or its own client over HTTP. */
export type FidelityAgent<M> = {
  readonly name: string;
  readonly native: (tuner: Tuner) => M;
  /** Absent if the framework has no client. */
  readonly overHttp?: (endpoint: OpenAIEndpoint) => M;
  /**
   * Asks the questions one after the other in one conversation, through the framework's agent with the tools `add` and
   * `look_up`. Every call succeeds. `isStreamed` chooses the framework's streaming way.
   */
  readonly converse: (model: M, questions: readonly string[], isStreamed: boolean) => Promise<void>;
};

export const systemPrompt = 'You are a careful assistant.';
export const toolNames = ['add', 'look_up'] as const;
/** The number is more than any script has. */
export const maxSteps = 50;
