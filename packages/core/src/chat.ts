/**
 * Messages: what agents, adapters and chat templates speak. Token ids belong to `engine.ts`; only the
 * context tracker knows both.
 */

/** A tool call as the model wrote it. `arguments` is the model's own text, never parsed and re-printed. */
export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
};

export type SystemMessage = { readonly role: 'system'; readonly content: string };
export type UserMessage = { readonly role: 'user'; readonly content: string; readonly name?: string };
export type AssistantMessage = {
  readonly role: 'assistant';
  readonly content: string;
  /** Text of a thinking block, without its tags. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly name?: string;
};
export type ToolMessage = {
  readonly role: 'tool';
  readonly content: string;
  readonly toolCallId: string;
  readonly name?: string;
};
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A function the model may call. `parameters` is a JSON Schema object. */
export type ToolSpec = {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** `required`: at least one call; a name: a call of that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The form an answer is asked for. It is said in the system message; nothing constrains the sampling. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      /** The model sees it with the schema. */
      readonly description?: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

/** What a caller may ask of sampling. Absent fields fall back to the `rollout` section of the configuration. */
export type SamplingOptions = {
  /** 0 means greedy. */
  readonly temperature?: number;
  /** In (0, 1]. */
  readonly topP?: number;
  /** Number of candidates kept; -1 or 0 keeps all. */
  readonly topK?: number;
  /** Limit of generated tokens. */
  readonly maxTokens?: number;
  /** Texts that end the answer; the text itself is not part of the content. */
  readonly stop?: readonly string[];
  readonly seed?: number;
};

/** One model call, as every framework's request comes down to it. */
export type ChatRequest = {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
  /** False: the answer ends with its first tool call. */
  readonly parallelToolCalls?: boolean;
  readonly responseFormat?: ResponseFormat;
  readonly sampling?: SamplingOptions;
  /** Variables of the model's chat template for this call, such as `enable_thinking`. They override those of the configuration. */
  readonly chatTemplateKwargs?: Readonly<Record<string, unknown>>;
  /** The parameter by which the client asks the model not to think, such as `reasoning_effort`. Absent: it does not ask. */
  readonly thinkingOff?: string;
  /** The model name that the client asked for. Any name is answered; `rollout.untrained_models` is matched against it. */
  readonly model?: string;
  /** False: the same weights answer, and the answer is not trained. For calls that no agent made, such as titles. */
  readonly isTrained?: boolean;
  /** Parameters of the client's request that have no effect here. They are counted. */
  readonly ignoredParameters?: readonly string[];
  /** Equal requests with the same id are one call (a client's retry): the second gets the first one's answer. Other requests with it are refused. */
  readonly requestId?: string;
};

/** `stop`: the model ended its turn; `tool_calls`: it ended with calls; `length`: cut by a token limit. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** Tokens of the whole prompt, reused ones included, and of the answer with its end token. */
export type TokenUsage = { readonly promptTokens: number; readonly completionTokens: number };

/** Natural log, under the distribution that the token was sampled from (see `Completion.logprobs`). */
export type TokenLogprob = { readonly id: number; readonly text: string; readonly logprob: number };

export type ChatResponse = {
  /** Unique within the process. */
  readonly id: string;
  readonly model: string;
  readonly message: AssistantMessage;
  readonly finishReason: ChatFinishReason;
  /** The stop text (of `SamplingOptions.stop`) that ended the answer; absent where it ended by itself. */
  readonly stopText?: string;
  readonly usage: TokenUsage;
  /** Of each generated token; absent where the model cannot say (an external debug model). */
  readonly logprobs?: readonly TokenLogprob[];
  /** Tool-call blocks the parser could not read; their text stays in `message.content`. */
  readonly malformedToolCalls?: number;
};

/** A piece of a streamed answer. A tool call arrives whole, once its block has closed. */
export type ChatDelta =
  | { readonly type: 'content'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly index: number; readonly toolCall: ToolCall };

export type ChatOptions = {
  readonly signal?: AbortSignal;
  /** Called as the engine makes tokens; concatenated deltas equal the final message. */
  readonly onDelta?: (delta: ChatDelta) => void;
  /** With `onDelta`: told before each delta of the tokens that were sampled since the one before. Not every model knows them. */
  readonly onTokens?: (tokens: readonly TokenLogprob[]) => void;
};

/** Messages in, message out. The tuned model, debug models and scripted models all are one. */
export interface ChatModel {
  readonly name: string;
  /** Rejects with EngineError: `context_overflow`, `bad_request`, `aborted`, `closed` (the episode has ended), `failed`. */
  generate(request: ChatRequest, options?: ChatOptions): Promise<ChatResponse>;
}

/** A model that knows how many tokens a prompt has without answering it. */
export interface CountingChatModel extends ChatModel {
  /** Tokens of the prompt that this request would have. Rejects as `generate` does. */
  countPromptTokens(request: ChatRequest): Promise<number>;
}

export function isCountingChatModel(model: ChatModel): model is CountingChatModel {
  return 'countPromptTokens' in model;
}

export type ModelLimits = {
  /** Most tokens of a prompt and its answer together. */
  readonly contextLength: number;
  /** Most tokens of an answer, unless its request sets another limit. */
  readonly maxTokens: number;
};

/** A model that knows its limits. */
export interface LimitedChatModel extends ChatModel {
  readonly limits: ModelLimits;
}

/** The limits of a model; undefined if it does not know them, as models of other providers do not. */
export function limitsOf(model: ChatModel | LimitedChatModel): ModelLimits | undefined {
  return 'limits' in model ? model.limits : undefined;
}

/** A whole answer as one burst of deltas, for a caller who asked for a stream of what is there already. */
export function replayDeltas({ message }: ChatResponse, { onDelta }: ChatOptions): void {
  const { content, reasoning = '', toolCalls = [] } = message;
  if (reasoning !== '') onDelta?.({ type: 'reasoning', text: reasoning });
  if (content !== '') onDelta?.({ type: 'content', text: content });
  toolCalls.forEach((toolCall, index) => onDelta?.({ type: 'tool_call', index, toolCall }));
}
