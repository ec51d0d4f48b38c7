import type { ChatMessage, ForkCause } from '@agentjet/core';
import type { AgentIdentity, Counts, SpliceCause, TurnDescription } from '../contract.js';
import type { TokenPosition } from './token-tree.js';

/** The tokens of one committed call: the engine was given `promptLength` ids and sampled those up to `end`. */
export type SampledCall = Pick<
  TurnDescription,
  'index' | 'reusedTokens' | 'policyVersion' | 'isTruncated' | 'parts' | 'foreignMessages' | 'times'
> & {
  readonly id: string;
  readonly agent: AgentIdentity;
  readonly end: TokenPosition;
  readonly promptLength: number;
  /** Shape [end.depth - promptLength]. */
  readonly logprobs: Float32Array;
  /** Undefined if it is the temperature of the run. */
  readonly temperature: number | undefined;
  readonly isTrained: boolean;
  /** Whether the last token ended the answer. */
  readonly isStopped: boolean;
  readonly fork: ForkCause | undefined;
  /**
   * Answers that came back in another spelling for the first time. `index` is the index of the call that sampled the
   * answer.
   */
  readonly splices: readonly { readonly index: number; readonly cause: SpliceCause }[];
  readonly specialTokens: Counts<ChatMessage['role']>;
};

/** Orders calls as they began. */
export function inOrder(calls: readonly SampledCall[]): readonly SampledCall[] {
  const isInOrder = calls.every(({ index }, at) => at === 0 || index > (calls[at - 1]?.index ?? 0));
  return isInOrder ? calls : calls.toSorted((left, right) => left.index - right.index);
}

/** Returns the position of each call in the order in which the calls began, or -1 if it is not one of them. */
export function placesIn(calls: readonly SampledCall[]): (call: SampledCall) => number {
  const places = new Map(inOrder(calls).map((call, place) => [call, place]));
  return (call) => places.get(call) ?? -1;
}
