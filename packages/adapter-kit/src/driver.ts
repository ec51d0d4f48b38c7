import type { SamplingOptions, ToolChoice, ToolSpec } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';

/** What a framework may have words for. Promises about the rest are skipped, and listed as such. */
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
export type Feature = (typeof features)[number];

/**
 * How the contract suite talks to a framework: a handful of functions, each a few lines of the framework's own API.
 * `M` is its model type, `H` its own form of a conversation, which the suite never looks into.
 */
export type AdapterDriver<M, H> = {
  readonly name: string;
  /** The adapter under test. */
  readonly asModel: (tuner: Tuner, options: ModelOptions<M>) => M;
  /** Some model of the framework that is not the tuned one; it is never called. */
  readonly debugModel: M;
  readonly says: readonly Feature[];
  /** A new conversation: a system message and a first question. */
  readonly begin: (question: string, system: string) => H;
  readonly addQuestion: (history: H, question: string) => H;
  /** In the order of the calls. */
  readonly addToolResults: (history: H, results: readonly DriverToolResult[]) => H;
  /** The conversation as a framework prunes it: without the thinking of all answers. Only for `reasoning`. */
  readonly withoutThinking?: (history: H) => H;
  /**
   * The conversation with answers of other providers after it, one history for each form that the framework gives them. Each answer
   * says `text`, and may hold what this model cannot read: encrypted thinking, an image, a call that the provider ran.
   */
  readonly addOthersAnswers?: (history: H, text: string) => readonly H[];
  /** One model call. Rejects with whatever the framework rejects with. */
  readonly call: (model: M, history: H, options: DriverCall) => Promise<DriverAnswer<H>>;
  /** The same, streamed; `onText` gets each piece of text as it comes. Required where `says` has `stream`. */
  readonly stream?: (
    model: M,
    history: H,
    options: DriverCall,
    onText: (text: string) => void,
  ) => Promise<DriverAnswer<H>>;
};

/** What the suite asks of one call; nothing that `says` leaves out. */
export type DriverCall = {
  readonly tools: readonly ToolSpec[];
  readonly sampling: SamplingOptions;
  readonly toolChoice?: ToolChoice;
  /** False: one call at most. */
  readonly parallelToolCalls?: boolean;
  /** Names the call: a client's retry has the same one. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
};

/** What a tool gave for the call of that id. */
export type DriverToolResult = { readonly id: string; readonly name: string; readonly content: string };

/** What the framework shows of an answer. */
export type DriverAnswer<H> = {
  /** The conversation with the answer in it, as the framework's own agents would keep it. */
  readonly history: H;
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string }[];
  readonly reasoning?: string | undefined;
  /** In any spelling that contains stop, length or tool. */
  readonly finishReason?: string | undefined;
  readonly usage?:
    | { readonly promptTokens: number | undefined; readonly completionTokens: number | undefined }
    | undefined;
};
