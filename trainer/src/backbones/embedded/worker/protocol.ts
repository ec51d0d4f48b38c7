/**
 * The messages between a backbone's worker and the thread that uses it. A structured clone keeps all values of a
 * message.
 */

import type {
  Completion,
  KeptTokens,
  TokenRow,
  TokenSampling,
  TrainStepMetrics,
  TreePack,
  TruncatedSampling,
} from '@agentjet/core';
import type { BuiltInBatch } from '../../../slope/train-in-passes.js';

/** Requests that get one reply, by method, with their arguments and results. */
export type Methods = {
  readonly trainStep: { readonly input: BuiltInBatch; readonly output: TrainStepMetrics };
  readonly termLogprobs: {
    readonly input: { readonly packs: readonly TreePack[]; readonly temperature: number };
    readonly output: readonly Float32Array[];
  };
  readonly keptTokens: {
    readonly input: {
      readonly packs: readonly TreePack[];
      readonly sampling: TruncatedSampling;
    };
    readonly output: readonly KeptTokens[];
  };
  readonly logprobs: { readonly input: readonly TokenRow[]; readonly output: readonly Float32Array[] };
  readonly save: { readonly input: string; readonly output: null };
  readonly load: { readonly input: string; readonly output: null };
  readonly close: { readonly input: null; readonly output: null };
};

export type Method = keyof Methods;

export type ToWorker =
  | {
      readonly type: 'generate';
      readonly call: number;
      readonly promptIds: Int32Array;
      readonly sampling: TokenSampling;
      /** Whether the caller wants each token as soon as it is sampled. */
      readonly isStreamed: boolean;
    }
  | {
      [M in Method]: {
        readonly type: 'request';
        readonly call: number;
        readonly method: M;
        readonly input: Methods[M]['input'];
      };
    }[Method]
  /** Ends a call or aborts a request. The caller needs no further messages about it. */
  | { readonly type: 'abort'; readonly call: number }
  /** onToken returned 'stop'. The call ends as after an abort, but later calls may use its computed keys and values. */
  | { readonly type: 'stop'; readonly call: number };

export type WorkerError = {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string;
};

export type StreamedToken = {
  readonly call: number;
  readonly id: number;
  readonly logprob: number;
  readonly policyVersion: number;
};

/**
 * The arrays of several completions are joined, because the cost of a clone depends on the number of arrays and not on
 * their bytes.
 */
export type CompletionBundle = {
  /** Shape [C] each. */
  readonly calls: readonly number[];
  readonly lengths: readonly number[];
  readonly finishReasons: readonly Completion['finishReason'][];
  readonly policyVersions: readonly number[];
  readonly timings: readonly (Completion['timing'] | null)[];
  /** Shape [sum of lengths] each, one completion after the other. */
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
};

export type FromWorker =
  | { readonly type: 'ready'; readonly contextLength: number; readonly policyVersion: number }
  | { readonly type: 'failed'; readonly error: WorkerError }
  /** Events of generate calls since the last message. The tokens of a call come before its end. */
  | {
      readonly type: 'news';
      readonly tokens: readonly StreamedToken[];
      readonly completions: CompletionBundle;
      readonly errors: readonly { readonly call: number; readonly error: WorkerError }[];
    }
  | {
      readonly type: 'reply';
      readonly call: number;
      readonly output: Methods[Method]['output'];
      readonly policyVersion: number;
    }
  | { readonly type: 'refusal'; readonly call: number; readonly error: WorkerError };
