import PQueue from 'p-queue';
import { AgentJetError, ConfigError, Outage } from '@agentjet/core';
import { AnswerCache, keyOf } from './answer-cache.js';
import { systemHost, type ClientHost } from './host.js';
import { KeyRing, readKeys, type Key, type KeyNames } from './key-ring.js';
import { sendQuestion, type Sent } from './send-question.js';
import { TokenBudget } from './token-budget.js';

/** One question to a chat model. Everything in it is part of the cache's key. */
export type ModelQuestion = {
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed?: number;
  /** A JSON schema that the answer is asked to fit. Servers may ignore it: check the answer. */
  readonly schema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
};

export type ModelAnswer = {
  readonly text: string;
  readonly finishReason: string;
  /** 0 if the server does not say. */
  readonly promptTokens: number;
  readonly completionTokens: number;
};

export type ModelClientOptions = KeyNames & {
  /** Of an OpenAI-compatible server, with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly limits: {
    readonly maxConcurrent: number;
    readonly requestsPerMinute: number | null;
    readonly tokensPerMinute: number | null;
    readonly timeoutSeconds: number;
    /** Further tries of one question. */
    readonly maxRetries: number;
  };
  /** Answers are kept here; null: nowhere. */
  readonly cacheFile: string | null;
};

export interface ModelClient {
  /**
   * Rejects with Outage if the model cannot be reached (connection, server, time, quota, all keys refused), with `ModelRefusal` if
   * the request itself is refused, and with the signal's reason if it aborts.
   */
  ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer>;
  /** What was asked so far; answers that were known already cost nothing. */
  readonly usage?: ModelUsage;
}

export type ModelUsage = {
  /** Questions that were sent and answered. */
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

/** The server says that the request itself is wrong: an unknown model, too long, not allowed. Sending it again would not help. */
export class ModelRefusal extends AgentJetError {}

const firstGapMs = 500;
const longestGapMs = 30_000;
/** A rate limit that lasts longer, such as one for a day, is an outage: waiting in silence would look like a run that hangs. */
const longestRestMs = 300_000;

/** Reads the keys from the environment. Throws ConfigError if there is none, or if the address is wrong. */
export async function openModelClient(
  options: ModelClientOptions,
  host: ClientHost = systemHost,
): Promise<ModelClient> {
  const url = readAddress(options.baseUrl);
  const keys = new KeyRing(readKeys(options, host.environment));
  const cache = options.cacheFile === null ? null : await AnswerCache.open(options.cacheFile);
  return new QueuedClient({ options, url, keys, cache, host });
}

function readAddress(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ConfigError(
      'bad_address',
      `The address of the model is ${JSON.stringify(baseUrl)}. Write http(s)://host/v1; keys belong in the environment.`,
    );
  return new URL(`${url.pathname.replace(/\/+$/, '')}/chat/completions`, url);
}

type Parts = {
  readonly options: ModelClientOptions;
  readonly url: URL;
  readonly keys: KeyRing;
  readonly cache: AnswerCache | null;
  readonly host: ClientHost;
};

class QueuedClient implements ModelClient {
  readonly #parts: Parts;
  readonly #queue: PQueue;
  readonly #budget: TokenBudget | null;
  /** Questions under way, so that two equal ones are asked once. */
  readonly #underWay = new Map<string, Promise<ModelAnswer>>();

  readonly #usage = { calls: 0, promptTokens: 0, completionTokens: 0 };

  constructor(parts: Parts) {
    this.#parts = parts;
    const { maxConcurrent, requestsPerMinute, tokensPerMinute } = parts.options.limits;
    this.#queue = new PQueue({
      concurrency: maxConcurrent,
      ...(requestsPerMinute !== null && { interval: 60_000, intervalCap: requestsPerMinute }),
    });
    this.#budget = tokensPerMinute === null ? null : new TokenBudget(tokensPerMinute, parts.host);
  }

  get usage(): ModelUsage {
    return { ...this.#usage };
  }

  async ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const key = keyOf({ model: this.#parts.options.model, ...question });
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
    const answer = await this.#askWithRetries(question, signal);
    this.#usage.calls++;
    this.#usage.promptTokens += answer.promptTokens;
    this.#usage.completionTokens += answer.completionTokens;
    await this.#parts.cache?.set(key, answer);
    return answer;
  }

  async #askWithRetries(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
    const { options, url, keys, host } = this.#parts;
    let last = '';
    for (let attempt = 0; attempt <= options.limits.maxRetries; attempt++) {
      if (attempt > 0 && !keys.areAllRetired) await host.sleep(this.#gapMs(attempt), signal);
      const sent = await this.#sendOnce(question, signal);
      if (sent.kind === 'answer') return sent.answer;
      last = keys.redact(sent.message);
      if (sent.kind === 'refused') throw new ModelRefusal('refused', `${url.host} refuses the request: ${last}`);
      if (sent.kind === 'bad_key' && keys.areAllRetired) break;
    }
    const about = keys.areAllRetired ? `No key of ${keys.names.join(', ')} is accepted` : 'No answer';
    throw new Outage(`${about} at ${url.host} (model ${options.model}): ${last}`, { host: url.host });
  }

  /** Full jitter (AWS Architecture Blog, 2015). */
  #gapMs(attempt: number): number {
    return Math.min(longestGapMs, firstGapMs * 2 ** (attempt - 1)) * (0.5 + this.#parts.host.random() / 2);
  }

  async #sendOnce(question: ModelQuestion, signal: AbortSignal): Promise<Sent> {
    const estimate = estimateTokens(question);
    const correct = await this.#budget?.take(estimate, signal);
    const key = await this.#takeKey(signal);
    let isSettled = false;
    try {
      const sent = await this.#queue.add(() => this.#send(question, key, signal), { signal });
      this.#settle(key, sent);
      isSettled = true;
      if (sent.kind === 'answer' && sent.answer.promptTokens > 0)
        correct?.(sent.answer.promptTokens + sent.answer.completionTokens);
      return sent;
    } finally {
      if (!isSettled) this.#parts.keys.release(key);
    }
  }

  #send(question: ModelQuestion, key: Key, signal: AbortSignal): Promise<Sent> {
    const { options, url, host } = this.#parts;
    const timeoutMs = options.limits.timeoutSeconds * 1000;
    return sendQuestion(question, { url: url.href, key: key.value, model: options.model, timeoutMs }, { host, signal });
  }

  async #takeKey(signal: AbortSignal): Promise<Key> {
    for (;;) {
      const taken = this.#parts.keys.take(this.#parts.host.now());
      if ('key' in taken) return taken.key;
      if (taken.waitMs > longestRestMs) throw this.#resting(taken.waitMs);
      await this.#parts.host.sleep(Math.min(taken.waitMs, longestGapMs), signal);
    }
  }

  #resting(waitMs: number): Outage {
    const { keys, url, options } = this.#parts;
    return new Outage(
      `The rate limit of every key of ${keys.names.join(', ')} at ${url.host} (model ${options.model}) lasts ${Math.round(waitMs / 60_000)} more minutes`,
      { host: url.host },
    );
  }

  #settle(key: Key, sent: Sent): void {
    const { keys, host } = this.#parts;
    if (sent.kind === 'bad_key') keys.retire(key, host.now());
    else if (sent.kind === 'busy') keys.rest(key, host.now() + (sent.waitMs ?? 2 * firstGapMs));
    else if (sent.kind === 'answer') keys.succeed(key);
    else keys.release(key);
  }
}

/** Four characters a token, which is about right for English; the count is corrected by the answer. */
function estimateTokens({ messages, maxTokens }: ModelQuestion): number {
  return maxTokens + Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4);
}
