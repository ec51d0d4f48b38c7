import { parseJsonObject, type JsonObject } from '@agentjet/core';
import { AnswerCache, keyOf } from './answer-cache.js';
import { systemModelHost, type ModelHost } from './host.js';
import { openSender, type RequestSender, type ServerOptions } from './request-sender.js';
import type { Request } from './send-request.js';
import { hasText, toChatResponse } from './wire/to-chat-response.js';
import { toRequestBody } from './wire/to-request-body.js';

/** One question to a chat model. All of its fields are part of the cache's key. */
export type ModelQuestion = {
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed?: number;
  /** A JSON schema for the answer. Servers may ignore it, so check the answer. */
  readonly schema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
};

export type ModelAnswer = {
  readonly text: string;
  readonly finishReason: string;
  /** 0 if the server does not report it. */
  readonly promptTokens: number;
  readonly completionTokens: number;
};

export type ModelClientOptions = ServerOptions & {
  /** The file that keeps answers. Null keeps none. */
  readonly cacheFile: string | null;
};

export interface ModelClient {
  /**
   * Rejects with Outage if the model cannot be reached (connection, server, time, quota, all keys refused), with
   * `ModelRefusal` if the request itself is refused, and with the signal's reason if it aborts.
   */
  ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer>;
  /** The usage so far. Answers from the cache cost nothing. */
  readonly usage?: ModelUsage;
}

export type ModelUsage = {
  /** Questions that were sent and answered. */
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

/**
 * Opens a client whose keys are read from the environment. Throws ConfigError if there is no key or the
 * address is wrong.
 */
export async function openModelClient(
  options: ModelClientOptions,
  host: ModelHost = systemModelHost,
): Promise<ModelClient> {
  const { model, cacheFile } = options;
  const sender = openSender(options, 'chat/completions', host);
  const cache = cacheFile === null ? null : await AnswerCache.open(cacheFile, readKept);
  return new CachingClient({ model, sender, cache });
}

function readKept({ text, finishReason, promptTokens, completionTokens }: JsonObject): ModelAnswer | null {
  if (typeof text !== 'string' || typeof finishReason !== 'string') return null;
  if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return null;
  return { text, finishReason, promptTokens, completionTokens };
}

type Parts = {
  readonly model: string;
  readonly sender: RequestSender;
  readonly cache: AnswerCache<ModelAnswer> | null;
};

class CachingClient implements ModelClient {
  readonly #parts: Parts;
  /** The questions that are under way. An equal question waits for the same answer and is not sent. */
  readonly #underWay = new Map<string, Promise<ModelAnswer>>();

  readonly #usage = { calls: 0, promptTokens: 0, completionTokens: 0 };

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get usage(): ModelUsage {
    return { ...this.#usage };
  }

  async ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const key = keyOf({ model: this.#parts.model, ...question });
    const known = this.#parts.cache?.get(key);
    if (known !== undefined) return known;
    for (let shared = this.#underWay.get(key); shared !== undefined; shared = this.#underWay.get(key)) {
      const answer = await shared.catch(() => null);
      signal.throwIfAborted();
      if (answer !== null) return answer;
    }
    const asked = this.#askAndKeep(key, question, signal).finally(() => this.#underWay.delete(key));
    if (this.#parts.cache !== null) this.#underWay.set(key, asked);
    return asked;
  }

  async #askAndKeep(key: string, question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
    const { model, sender } = this.#parts;
    const answer = await sender.send(
      {
        ...toRequest(question, model),
        tokens: estimateTokens(question),
        countTokens: ({ promptTokens, completionTokens }) => promptTokens && promptTokens + completionTokens,
      },
      signal,
    );
    this.#usage.calls++;
    this.#usage.promptTokens += answer.promptTokens;
    this.#usage.completionTokens += answer.completionTokens;
    await this.#parts.cache?.set(key, answer);
    return answer;
  }
}

function toRequest(question: ModelQuestion, model: string): Request<ModelAnswer> {
  const { messages, temperature, maxTokens, seed, schema } = question;
  const body = toRequestBody(
    { messages, sampling: { temperature, maxTokens, ...(seed !== undefined && { seed }) } },
    model,
  );
  const format = schema && { type: 'json_schema', json_schema: { ...schema, strict: true } };
  return {
    body: { ...body, ...(format && { response_format: format }) },
    read: (text) => {
      const body = parseJsonObject(text);
      const answer = toChatResponse(body, { id: '', model });
      if ('mistake' in answer) return answer;
      if (!hasText(body)) return { mistake: 'An answer without text' };
      return { text: answer.message.content, finishReason: answer.finishReason, ...answer.usage };
    },
  };
}

/** Estimates four characters per token, which is about right for English. The answer corrects the count. */
function estimateTokens({ messages, maxTokens }: ModelQuestion): number {
  return maxTokens + Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4);
}
