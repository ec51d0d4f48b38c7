import type { ChatMessage, ForkCause } from '@agentjet/core';
import type { AgentIdentity, Counts, ForeignCause, PartAuthor, SpliceCause } from '../contract.js';
import type { TokenPosition } from './token-tree.js';

/** One committed call, as far as tokens go: the engine was given `promptLength` ids and sampled those up to `end`. */
export type RecordedCall = {
  readonly id: string;
  /** Number of the call in the order of `begin`. */
  readonly index: number;
  readonly agent: AgentIdentity;
  readonly end: TokenPosition;
  readonly promptLength: number;
  readonly reusedTokens: number;
  /** Shape [end.depth - promptLength]. */
  readonly logprobs: Float32Array;
  readonly policyVersion: number;
  /** Undefined: the run's. */
  readonly temperature: number | undefined;
  readonly isTrained: boolean;
  readonly fork: ForkCause | undefined;
  readonly isTruncated: boolean;
  /** How many of the prompt's last ids were rendered for this call. */
  readonly numNew: number;
  /** Their text, as the template printed it. */
  readonly printed: string;
  /** The messages that they were rendered from. */
  readonly added: readonly AddedMessage[];
  /** How many of the prompt's last ids are what the answer was made to begin with. */
  readonly numOpening: number;
  /** Answers that came back in another spelling for the first time; `index` is that of their calls. */
  readonly splices: readonly { readonly index: number; readonly cause: SpliceCause }[];
  readonly foreignMessages: Counts<ForeignCause>;
  readonly specialTokens: Counts<ChatMessage['role']>;
};

export type AddedMessage = { readonly message: ChatMessage; readonly author: PartAuthor };

/** As they began. */
export function inOrder(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return calls.toSorted((left, right) => left.index - right.index);
}
