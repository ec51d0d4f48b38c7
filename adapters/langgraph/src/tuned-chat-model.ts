import {
  EngineError,
  limitsOf,
  type ChatDelta,
  type ChatModel,
  type ChatRequest,
  type ChatResponse,
  type SamplingOptions,
  type TokenUsage,
} from '@agentjet/core';
import { wishes } from '@agentjet/core/parameters';
import { streamChat } from '@agentjet/rollout';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
  type LangSmithParams,
} from '@langchain/core/language_models/chat_models';
import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from '@langchain/core/language_models/base';
import type { ChatModelStreamEvent } from '@langchain/core/language_models/event';
import type { ModelProfile } from '@langchain/core/language_models/profile';
import type { AIMessageChunk, BaseMessage, MessageContent } from '@langchain/core/messages';
import type { ChatGenerationChunk, ChatResult, LLMResult } from '@langchain/core/outputs';
import type { Runnable } from '@langchain/core/runnables';
import { fromLangChainMessages, toSamplingOptions } from './chat-request.js';
import { toLangChainError } from './errors.js';
import { toStreamEvents } from './stream-events.js';
import { toStructured } from './structured-output.js';
import { toDeltaChunk, toFinalChunk, toWholeAnswer } from './tuned-message.js';

/** Options of a call, in `invoke(input, options)`, `withConfig` or `bindTools(tools, options)`. */
export interface TunedCallOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
  response_format?: unknown;
  /** If false, the answer ends with its first tool call. */
  parallel_tool_calls?: boolean;
  temperature?: number;
  topP?: number;
  top_p?: number;
  topK?: number;
  top_k?: number;
  maxTokens?: number;
  max_tokens?: number;
  maxCompletionTokens?: number;
  max_completion_tokens?: number;
  maxOutputTokens?: number;
  seed?: number;
  /** The number of answers. `generate()` returns all of them, `invoke()` the first. */
  n?: number;
  /** Variables of the model's chat template, such as `enable_thinking`. */
  chat_template_kwargs?: Record<string, unknown>;
  /** A call with a repeated id gets the first call's answer. */
  requestId?: string;
  /**
   * If false, the answer is not trained. Use it for calls that are not the agent's own, such as one that writes a
   * title.
   */
  train?: boolean;
}

/**
 * A chat model of LangChain that calls a ChatModel. It never retries, because a repeated call would be a second sample.
 */
export class TunedChatModel extends BaseChatModel<TunedCallOptions, AIMessageChunk> {
  readonly #model: ChatModel;
  readonly #sampling: SamplingOptions;

  /**
   * `jsonSchema` and `jsonMode` ask for JSON text, and `functionCalling` (the default) asks for a call of one tool. The
   * types are LangChain's own.
   */
  override readonly withStructuredOutput: BaseChatModel['withStructuredOutput'] = (
    schema: object,
    config: StructuredOutputMethodOptions<boolean> = {},
  ) => toStructured(this, schema, config) as Runnable<BaseLanguageModelInput, never>;

  constructor(model: ChatModel, sampling: SamplingOptions = {}) {
    super({ maxRetries: 0 });
    this.#model = model;
    this.#sampling = sampling;
  }

  static override lc_name(): string {
    return 'TunedChatModel';
  }

  override get callKeys(): string[] {
    return [...super.callKeys, ...wishes.flatMap(({ names }) => (names.langgraph ?? []).filter(isOption))];
  }

  override _llmType(): string {
    return 'agentjet';
  }

  /**
   * Describes the model. createAgent reads this and then asks for a `responseFormat` as JSON text. Middleware reads
   * this to notice a long conversation.
   */
  override get profile(): ModelProfile {
    const limits = limitsOf(this.#model);
    return {
      ...(limits !== undefined && {
        maxInputTokens: limits.contextLength,
        maxOutputTokens: this.#sampling.maxTokens ?? limits.maxTokens,
      }),
      structuredOutput: true,
      toolCalling: true,
      toolChoice: true,
      reasoningOutput: true,
      imageInputs: false,
      imageUrlInputs: false,
      imageToolMessage: false,
      imageOutputs: false,
      pdfInputs: false,
      pdfToolMessage: false,
      audioInputs: false,
      audioOutputs: false,
      videoInputs: false,
      videoOutputs: false,
    };
  }

  /** Tracers read this. */
  override invocationParams(options?: this['ParsedCallOptions']): Record<string, unknown> {
    return {
      model: this.#model.name,
      ...this.#sampling,
      ...(options?.tools !== undefined && { tools: options.tools.length }),
    };
  }

  /** Tracers show this. LangChain's standard tests require all keys, so a missing value is undefined. */
  override getLsParams(options: this['ParsedCallOptions']): LangSmithParams {
    const { temperature, maxTokens, stop } = toSamplingOptions(options, this.#sampling);
    const params: {
      readonly [Key in keyof Omit<LangSmithParams, 'ls_integration'>]-?: LangSmithParams[Key] | undefined;
    } = {
      ls_provider: 'agentjet',
      ls_model_name: this.#model.name,
      ls_model_type: 'chat',
      ls_temperature: temperature,
      ls_max_tokens: maxTokens,
      ls_stop: stop && [...stop],
    };
    return params as LangSmithParams;
  }

  /**
   * Returns an estimate, as LangChain does without a tokenizer. LangChain's own method would first look for a tokenizer
   * on the web.
   */
  override async getNumTokens(content: MessageContent): Promise<number> {
    const texts =
      typeof content === 'string'
        ? [content]
        : content.map((block) => (typeof block['text'] === 'string' ? block['text'] : ''));
    return Math.ceil(texts.join('').length / 4);
  }

  /** Adds up the usage of all conversations of one `generate()`. */
  override _combineLLMOutput(...outputs: readonly LLMResult['llmOutput'][]): LLMResult['llmOutput'] {
    return {
      tokenUsage: sumUsage(outputs.flatMap((output) => (output?.['tokenUsage'] as TokenUsage | undefined) ?? [])),
    };
  }

  /** Binds options to the model. The bound model keeps the profile, because middleware reads it. */
  override withConfig(
    config: Partial<TunedCallOptions>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, TunedCallOptions> {
    return Object.assign(super.withConfig(config), { profile: this.profile });
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<TunedCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, TunedCallOptions> {
    return this.withConfig({ tools, ...kwargs });
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    try {
      const request = fromLangChainMessages(messages, options, this.#sampling);
      const responses = await generateAll(
        this.#model,
        choices(options.n).map((choice) => withChoice(request, choice)),
        options,
      );
      return {
        generations: responses.map(toWholeAnswer),
        llmOutput: { tokenUsage: sumUsage(responses.map(({ usage }) => usage)) },
      };
    } catch (error) {
      throw toLangChainError(error);
    }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    try {
      const deltas = streamChat(
        this.#model,
        fromLangChainMessages(messages, options, this.#sampling),
        signalOf(options),
      );
      const response = yield* announced(deltas, runManager);
      yield toFinalChunk(response);
    } catch (error) {
      throw toLangChainError(error);
    }
  }

  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
  ): AsyncGenerator<ChatModelStreamEvent> {
    try {
      yield* toStreamEvents(
        streamChat(this.#model, fromLangChainMessages(messages, options, this.#sampling), signalOf(options)),
      );
    } catch (error) {
      throw toLangChainError(error);
    }
  }
}

async function* announced(
  deltas: AsyncGenerator<ChatDelta, ChatResponse>,
  runManager: CallbackManagerForLLMRun | undefined,
): AsyncGenerator<ChatGenerationChunk, ChatResponse> {
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done === true) return next.value;
      const chunk = toDeltaChunk(next.value);
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, { prompt: 0, completion: 0 }, undefined, undefined, undefined, {
        chunk,
      });
    }
  } finally {
    await deltas.return(undefined as never);
  }
}

/** True for the name of an option itself, and false for a path into it. */
function isOption(name: string): boolean {
  return /^\w+$/.test(name);
}

/** Generates all answers. If one fails, the others are aborted, because the caller would never see them. */
async function generateAll(
  model: ChatModel,
  requests: readonly ChatRequest[],
  { signal }: { readonly signal?: AbortSignal },
): Promise<readonly ChatResponse[]> {
  const left = new AbortController();
  const either = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  try {
    return await Promise.all(requests.map((request) => model.generate(request, { signal: either })));
  } catch (error) {
    left.abort(error);
    throw error;
  }
}

/** Gives each answer of one request a separate request id, so that a retry of the request repeats each answer. */
function withChoice(request: ChatRequest, choice: number): ChatRequest {
  return request.requestId === undefined || choice === 0
    ? request
    : { ...request, requestId: `${request.requestId}#${choice}` };
}

function choices(count = 1): readonly number[] {
  if (!Number.isInteger(count) || count < 1)
    throw new EngineError('bad_request', `Option n is ${String(count)}. Ask for a whole number of answers from 1.`);
  return Array.from({ length: count }, (_none, choice) => choice);
}

function signalOf({ signal }: { readonly signal?: AbortSignal }): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function sumUsage(usages: readonly TokenUsage[]): {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
} {
  const promptTokens = usages.reduce((sum, usage) => sum + usage.promptTokens, 0);
  const completionTokens = usages.reduce((sum, usage) => sum + usage.completionTokens, 0);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
