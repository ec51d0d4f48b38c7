/**
 * The messages that agents, adapters and chat templates use. Token ids belong to `engine.ts`; only the context tracker
 * uses both.
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
/** One message of a conversation. */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A function the model may call. `parameters` is a JSON Schema object. */
export type ToolSpec = {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** `required`: at least one call; a name: a call of that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The form that the answer should have. The system message asks for it; nothing constrains the sampling. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      /** The model sees it together with the schema. */
      readonly description?: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

/** The sampling options that a caller may set. Absent fields fall back to the `rollout` section of the configuration. */
export type SamplingOptions = {
  /** 0 means greedy. */
  readonly temperature?: number;
  /** In (0, 1]. */
  readonly topP?: number;
  /** Number of candidates kept; -1 or 0 keeps all. */
  readonly topK?: number;
  /** Limit of generated tokens. */
  readonly maxTokens?: number;
  /** Strings that end the answer. The string itself is not part of the content. */
  readonly stop?: readonly string[];
  readonly seed?: number;
};

/** One model call. Adapters convert the requests of all frameworks to it. */
export type ChatRequest = {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
  /** If false, the answer ends after its first tool call. */
  readonly parallelToolCalls?: boolean;
  readonly responseFormat?: ResponseFormat;
  readonly sampling?: SamplingOptions;
  /** Variables of the model's chat template for this call, such as `enable_thinking`. They override those of the configuration. */
  readonly chatTemplateKwargs?: Readonly<Record<string, unknown>>;
  /** The parameter with which the client asks the model not to think, such as `reasoning_effort`. Absent if it does not ask. */
  readonly thinkingOff?: string;
  /** The model name that the client asked for. Every name is answered; `rollout.untrained_models` is matched against it. */
  readonly model?: string;
  /** If false, the same weights answer, and the answer is not trained. It is meant for calls that no agent made, such as titles. */
  readonly isTrained?: boolean;
  /** Parameters of the client's request that have no effect here. They are counted. */
  readonly ignoredParameters?: readonly string[];
  /** Equal requests with the same id are one call, such as a client's retry: the second gets the answer of the first. A different request with the id is refused. */
  readonly requestId?: string;
};

/** `stop`: the model ended its turn. `tool_calls`: its turn ended with calls. `length`: a token limit cut the answer. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** Tokens of the whole prompt, including reused ones, and of the answer, including its end token. */
export type TokenUsage = { readonly promptTokens: number; readonly completionTokens: number };

/** A natural logarithm, under the distribution that the token was sampled from (see `Completion.logprobs`). */
export type TokenLogprob = { readonly id: number; readonly text: string; readonly logprob: number };

/** The answer to one model call. */
export type ChatResponse = {
  /** Unique within the process. */
  readonly id: string;
  readonly model: string;
  readonly message: AssistantMessage;
  readonly finishReason: ChatFinishReason;
  /** The string of `SamplingOptions.stop` that ended the answer. Absent if no such string ended it. */
  readonly stopText?: string;
  readonly usage: TokenUsage;
  /** One entry per generated token. Absent if the model does not report logprobs, such as an external debug model. */
  readonly logprobs?: readonly TokenLogprob[];
  /** Number of tool-call blocks that the parser could not read. Their text stays in `message.content`. */
  readonly malformedToolCalls?: number;
};

/** A piece of a streamed answer. A tool call arrives whole, once its block is closed. */
export type ChatDelta =
  | { readonly type: 'content'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly index: number; readonly toolCall: ToolCall };

/** Options of one model call, which are not part of the request. */
export type ChatOptions = {
  readonly signal?: AbortSignal;
  /** Called while the engine samples tokens. The concatenated deltas equal the final message. */
  readonly onDelta?: (delta: ChatDelta) => void;
  /** Called before each `onDelta` with the tokens sampled since the previous delta. Only some models call it. */
  readonly onTokens?: (tokens: readonly TokenLogprob[]) => void;
};

/** Takes messages and returns a message. The tuned model, debug models and scripted models implement it. */
export interface ChatModel {
  readonly name: string;
  /** Rejects with EngineError: `context_overflow`, `bad_request`, `aborted`, `closed` (the episode has ended), `failed`. */
  generate(request: ChatRequest, options?: ChatOptions): Promise<ChatResponse>;
}

/** A model that can count the tokens of a prompt without answering it. */
export interface CountingChatModel extends ChatModel {
  /** Returns the number of tokens that the prompt of this request would have. Rejects as `generate` does. */
  countPromptTokens(request: ChatRequest): Promise<number>;
}

export function isCountingChatModel(model: ChatModel): model is CountingChatModel {
  return 'countPromptTokens' in model;
}

export type ModelLimits = {
  /** Maximum number of tokens of a prompt and its answer together. */
  readonly contextLength: number;
  /** Maximum number of tokens of an answer, unless its request sets another limit. */
  readonly maxTokens: number;
};

/** A model that reports its limits. */
export interface LimitedChatModel extends ChatModel {
  readonly limits: ModelLimits;
}

/** Returns the limits of a model, or undefined if the model does not report them, as models of other providers. */
export function limitsOf(model: ChatModel | LimitedChatModel): ModelLimits | undefined {
  return 'limits' in model ? model.limits : undefined;
}

/** Sends a whole answer as deltas at once, to a caller who asked for a stream of an answer that is already complete. */
export function replayDeltas({ message }: ChatResponse, { onDelta }: ChatOptions): void {
  const { content, reasoning = '', toolCalls = [] } = message;
  if (reasoning !== '') onDelta?.({ type: 'reasoning', text: reasoning });
  if (content !== '') onDelta?.({ type: 'content', text: content });
  toolCalls.forEach((toolCall, index) => onDelta?.({ type: 'tool_call', index, toolCall }));
}
