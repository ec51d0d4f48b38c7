import type { OpenAIEndpoint, Tuner } from '@agentjet/rollout';

/** One measured framework: its own agent loop, over our native model or its own client over HTTP. */
export type FidelityAgent<M> = {
  readonly name: string;
  readonly native: (tuner: Tuner) => M;
  /** Absent if the framework has no client. */
  readonly overHttp?: (endpoint: OpenAIEndpoint) => M;
  /**
   * Asks the questions one after the other in one conversation, through the framework's agent with the tools `add` and
   * `look_up`. Every tool call succeeds. If `isStreamed` is true, the framework streams.
   */
  readonly converse: (model: M, questions: readonly string[], isStreamed: boolean) => Promise<void>;
};

export const systemPrompt = 'You are a careful assistant.';
export const toolNames = ['add', 'look_up'] as const;
/** The limit of an agent's steps. It is larger than the number of steps in any script. */
export const maxSteps = 50;
