import type { OpenAIEndpoint, Tuner } from '@agentjet/rollout';

/** One framework under measure: its own agent loop, over our native model or its own client over HTTP. */
export type FidelityAgent<M> = {
  readonly name: string;
  readonly native: (tuner: Tuner) => M;
  /** Absent where the framework has no client of its own. */
  readonly overHttp?: (endpoint: OpenAIEndpoint) => M;
  /**
   * Asks the questions one after the other in one conversation, through the framework's agent with the tools `add` and
   * `look_up`, in which every call succeeds; `isStreamed` chooses the framework's streaming way.
   */
  readonly converse: (model: M, questions: readonly string[], isStreamed: boolean) => Promise<void>;
};

export const systemPrompt = 'You are a careful assistant.';
export const toolNames = ['add', 'look_up'] as const;
/** More than any script has. */
export const maxSteps = 50;
