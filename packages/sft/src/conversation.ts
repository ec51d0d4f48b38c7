import type { ChatMessage, ChatRequest, Task } from '@agentjet/core';
import type { ExampleRow } from './example.js';

/**
 * The messages that one agent got and its answers, from the first to the last. An episode has one conversation for each
 * agent, and another one for each new history that an agent began.
 */
export type Conversation = {
  readonly agentName: string;
  readonly targetTag: string;
  readonly messages: readonly ChatMessage[];
  /** Whether each message is an answer to imitate. */
  readonly imitated: readonly boolean[];
} & Pick<ChatRequest, 'tools' | 'toolChoice' | 'responseFormat'>;

/** One episode as messages, or one line of a file of conversations. */
export type Transcript = {
  /** Unique among all transcripts that are read. */
  readonly id: string;
  /** The file and the line of the transcript, for error messages, such as `transcripts.jsonl:12`. */
  readonly place: string;
  /** Empty if the transcript is kept in tokens. */
  readonly conversations: readonly Conversation[];
  /** Present for an episode that a model with the same tokenizer sampled. */
  readonly tokens?: { readonly rows: readonly ExampleRow[]; readonly taskId: string; readonly text: string };
  /** Null if the task is unknown. */
  readonly task: Task | null;
  /** The reward. If the episode was not judged, `reward` and `isSuccess` are null. */
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  /** Whether the episode was cut short. */
  readonly hasFailed: boolean;
};
