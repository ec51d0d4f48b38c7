import type { ChatRequest } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';

/** Features that a framework may have. Promises about missing features are skipped and listed as such. */
export const features = [
  'stream',
  'abort',
  'reasoning',
  'usage',
  'finishReason',
  'temperature',
  'topP',
  'topK',
  'maxTokens',
  'stop',
  'seed',
  'toolChoice',
  'parallelToolCalls',
  'requestId',
] as const;
/** A capability that an adapter may have, and that the contract suite checks. */
export type Feature = (typeof features)[number];

/**
 * Connects the contract suite to a framework: a few short functions that use the framework's own API. `M` is its model
 * type. `H` is its own form of a conversation, which the suite never inspects.
 */
export type AdapterDriver<M, H> = {
  readonly name: string;
  /** The adapter under test. */
  readonly asModel: (tuner: Tuner, options: ModelOptions<M>) => M;
  /** Any model of the framework other than the tuned one. It is never called. */
  readonly debugModel: M;
  readonly says: readonly Feature[];
  /** Options that every call of the framework must set, so they never come from the run. */
  readonly required?: readonly ('temperature' | 'topP' | 'topK' | 'maxTokens')[];
  /** Creates a conversation with a system message and a first question. */
  readonly begin: (question: string, system: string) => H;
  readonly addQuestion: (history: H, question: string) => H;
  /** Adds results in the order of the calls. */
  readonly addToolResults: (history: H, results: readonly DriverToolResult[]) => H;
  /**
   * Removes the thinking from all answers, as a framework that prunes its history would. Used only if `says` has
   * `reasoning`.
   */
  readonly withoutThinking?: (history: H) => H;
  /**
   * Adds answers of other providers to the conversation and returns one history for each form that the framework gives
   * them. Each answer contains `text` and may contain parts that this model cannot read: encrypted thinking, an image,
   * a call that the provider ran.
   */
  readonly addOthersAnswers?: (history: H, text: string) => readonly H[];
  /** Makes one model call. Rejects with the framework's own error. */
  readonly call: (model: M, history: H, options: DriverCall) => Promise<DriverAnswer<H>>;
  /** Makes one call as a stream. `onText` gets each piece of text as it arrives. Required if `says` has `stream`. */
  readonly stream?: (
    model: M,
    history: H,
    options: DriverCall,
    onText: (text: string) => void,
  ) => Promise<DriverAnswer<H>>;
};

/** The options of one call. A call never uses a feature that `says` does not list. */
export type DriverCall = Pick<ChatRequest, 'toolChoice' | 'parallelToolCalls' | 'requestId'> &
  Required<Pick<ChatRequest, 'tools' | 'sampling'>> & { readonly signal?: AbortSignal };

/** The result of a tool for the call with that id. */
export type DriverToolResult = { readonly id: string; readonly name: string; readonly content: string };

/** An answer as the framework shows it. */
export type DriverAnswer<H> = {
  /** The conversation including the answer, as the framework's own agents would keep it. */
  readonly history: H;
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string }[];
  readonly reasoning?: string | undefined;
  /** Any spelling that contains stop, length or tool. */
  readonly finishReason?: string | undefined;
  readonly usage?:
    | { readonly promptTokens: number | undefined; readonly completionTokens: number | undefined }
    | undefined;
};
