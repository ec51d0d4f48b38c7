import type { ChatFinishReason } from '@agentjet/core';

/** A message between agents. The memory keeps the model's own turns separately, as the model wrote them. */
export type Message = {
  /** The speaker's name. */
  readonly name: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string;
  /** Data that accompanies the message and is not shown to a model. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/** An agent's answer. */
export type Reply = Message & {
  readonly role: 'assistant';
  /** `max_iterations` means that the loop ended while the model was still calling tools. */
  readonly finishReason: ChatFinishReason | 'max_iterations';
  /** The content as JSON, if a response format asked for it. Undefined if the content is not JSON. */
  readonly json?: unknown;
};
