import type { ChatMessage, ForkCause } from '@agentjet/core';
import type { AgentIdentity, Counts, ForeignCause, SpliceCause, TurnPart } from '../contract.js';
import type { TokenPosition } from './token-tree.js';

/** One committed call, as far as tokens go: the engine was given `promptLength` ids and sampled those up to `end`. */
export type SampledCall = {
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
  /** Where the messages are that were rendered for this call. */
  readonly parts: readonly TurnPart[];
  /** Answers that came back in another spelling for the first time; `index` is that of their calls. */
  readonly splices: readonly { readonly index: number; readonly cause: SpliceCause }[];
  readonly foreignMessages: Counts<ForeignCause>;
  readonly specialTokens: Counts<ChatMessage['role']>;
};

/** As they began. */
export function inOrder(calls: readonly SampledCall[]): readonly SampledCall[] {
  const isInOrder = calls.every(({ index }, at) => at === 0 || index > (calls[at - 1]?.index ?? 0));
  return isInOrder ? calls : calls.toSorted((left, right) => left.index - right.index);
}

/** Of each call its place among all, as they began; -1 if it is none of them. */
export function placesIn(calls: readonly SampledCall[]): (call: SampledCall) => number {
  const places = new Map(inOrder(calls).map((call, place) => [call, place]));
  return (call) => places.get(call) ?? -1;
}
