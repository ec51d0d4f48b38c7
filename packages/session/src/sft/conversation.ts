import type { ChatMessage, ChatRequest, Task } from '@agentjet/core';
import type { ExampleRow } from './example.js';

/**
 * The messages that one agent got and its answers, from the first to the last. An episode has one conversation for
 * each agent, and one more for each history that an agent began anew.
 */
export type Conversation = {
  readonly agentName: string;
  readonly targetTag: string;
  readonly messages: readonly ChatMessage[];
  /** By message: whether it is an answer to be imitated. */
  readonly imitated: readonly boolean[];
} & Pick<ChatRequest, 'tools' | 'toolChoice' | 'responseFormat'>;

/** One episode as messages, or one line of a file of conversations. */
export type Transcript = {
  /** Unique among all that is read. */
  readonly id: string;
  /** Where it was read, for messages: `transcripts.jsonl:12`. */
  readonly place: string;
  /** Empty if it is kept in tokens. */
  readonly conversations: readonly Conversation[];
  /** Of an episode that a model with the same tokenizer sampled. */
  readonly tokens?: { readonly rows: readonly ExampleRow[]; readonly taskId: string; readonly text: string };
  /** Null if it is not known which task it belongs to. */
  readonly task: Task | null;
  /** Null if nobody has judged it; the same for `isSuccess`. */
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  /** The episode did not come to its end. */
  readonly hasFailed: boolean;
};
