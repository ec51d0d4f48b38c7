import type { ChatDelta, ChatModel, ChatResponse } from '@agentjet/core';
import { streamChat } from '@agentjet/rollout';
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
} from '@ai-sdk/provider';
import { fromCallOptions, toWarnings } from './chat-request.js';
import { toAiSdkError } from './errors.js';
import { toContent, toFinishReason, toResultMetadata, toLanguageModelUsage } from './result-parts.js';
import { PartWriter } from './stream-parts.js';

/** A language model of the AI SDK that calls a ChatModel. */
export class TunedLanguageModel implements LanguageModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = 'agentjet';
  readonly modelId: string;
  /** The model supports no URLs, because it reads only text. */
  readonly supportedUrls = {};
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
    this.modelId = model.name;
  }

  async doGenerate(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    try {
      const { abortSignal } = options;
      const response = await this.#model.generate(
        fromCallOptions(options),
        abortSignal === undefined ? {} : { signal: abortSignal },
      );
      return {
        content: toContent(response),
        finishReason: toFinishReason(response),
        usage: toLanguageModelUsage(response),
        providerMetadata: toResultMetadata(response),
        response: { id: response.id, modelId: response.model },
        warnings: toWarnings(options),
      };
    } catch (error) {
      throw toAiSdkError(error);
    }
  }

  /** Resolves with the first token. An error before it rejects the promise, as it does with a provider over HTTP. */
  async doStream(options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    try {
      const left = new AbortController();
      const signal =
        options.abortSignal === undefined ? left.signal : AbortSignal.any([left.signal, options.abortSignal]);
      const deltas = streamChat(this.#model, fromCallOptions(options), { signal });
      const answer = {
        first: await deltas.next(),
        deltas,
        leave: () => left.abort(new Error('The reader left the stream.')),
      };
      return { stream: toPartStream(answer, { type: 'stream-start', warnings: toWarnings(options) }) };
    } catch (error) {
      throw toAiSdkError(error);
    }
  }
}

type Answer = {
  readonly first: IteratorResult<ChatDelta, ChatResponse>;
  readonly deltas: AsyncGenerator<ChatDelta, ChatResponse>;
  readonly leave: () => void;
};

function toPartStream(
  { first, deltas, leave }: Answer,
  opening: LanguageModelV3StreamPart,
): ReadableStream<LanguageModelV3StreamPart> {
  const writer = new PartWriter();
  let waiting: IteratorResult<ChatDelta, ChatResponse> | undefined = first;
  return new ReadableStream<LanguageModelV3StreamPart>({
    start: (controller) => controller.enqueue(opening),
    pull: async (controller) => {
      try {
        const result = waiting ?? (await deltas.next());
        waiting = undefined;
        const parts = result.done === true ? toLastParts(writer, result.value) : writer.toParts(result.value);
        for (const part of parts) controller.enqueue(part);
        if (result.done === true) controller.close();
      } catch (error) {
        controller.enqueue({ type: 'error', error: toAiSdkError(error) });
        controller.close();
      }
    },
    cancel: leave,
  });
}

function toLastParts(writer: PartWriter, response: ChatResponse): readonly LanguageModelV3StreamPart[] {
  return [{ type: 'response-metadata', id: response.id, modelId: response.model }, ...writer.toFinalParts(response)];
}
