import type { ChatMessage, ForkCause } from '@agentjet/core';
import type { AgentIdentity } from '../contract.js';
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
  readonly fork: ForkCause | undefined;
  readonly isTruncated: boolean;
  /** How many of the prompt's last ids were rendered for this call, and from which messages. */
  readonly numNew: number;
  readonly added: readonly ChatMessage[];
};
