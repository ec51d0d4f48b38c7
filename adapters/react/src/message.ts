import type { ChatFinishReason } from '@agentjet/core';

/** What agents say to one another. The model's own turns are kept in memory as the model wrote them, apart from this. */
export type Message = {
  /** Who speaks. */
  readonly name: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string;
  /** What travels along without being shown to a model. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/** An agent's answer. */
export type Reply = Message & {
  readonly role: 'assistant';
  /** `max_iterations`: the loop ended while the model was still calling tools. */
  readonly finishReason: ChatFinishReason | 'max_iterations';
  /** The content as JSON where a response format asked for it; undefined where it is none. */
  readonly json?: unknown;
};
