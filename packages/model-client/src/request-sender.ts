import PQueue from 'p-queue';
import { AgentJetError, ConfigError, Outage } from '@agentjet/core';
import { gapAfter, longestRestMs, type RetryGaps } from '@agentjet/core/retries';
import type { ModelHost } from './host.js';
import { KeyRing, readKeys, type Key, type KeyNames } from './key-ring.js';
import type { TimeLimit } from './leash.js';
import type { Failed } from './read-refusal.js';
import { sendRequest, type Request, type Sent } from './send-request.js';
import { TokenBudget } from './token-budget.js';

export type ServerOptions = KeyNames & {
  /** The address of an OpenAI-compatible server, including `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly limits: Limits & {
    readonly timeoutSeconds: number;
    /** The maximum number of further tries of one request. */
    readonly maxRetries: number;
  };
};

type Limits = {
  readonly maxConcurrent: number;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
};

/** How a request is repeated. Gaps double from the first to the longest, with random variation. */
export type RetryPolicy = RetryGaps & {
  /** The maximum number of further tries of one request. Infinity means until it is answered. */
  readonly maxRetries: number;
  /** Called before each wait. */
  readonly onRetry?: ((message: string, waitMs: number) => void) | undefined;
};

/** The default for external servers. */
export const usualRetries: RetryPolicy = { maxRetries: 4, firstGapMs: 500, longestGapMs: 30_000 };

export type SenderOptions = {
  readonly url: URL;
  /** The model's name for messages. */
  readonly model: string;
  readonly keys: readonly Key[];
  readonly retries: RetryPolicy;
  readonly limit: TimeLimit;
  readonly limits?: Limits;
};

/** Why there is no answer. */
type Reason = {
  /** The status of the last answer, if there was one. */
  readonly status?: number | undefined;
  /** The server's own message. */
  readonly said?: string | undefined;
};

/**
 * Thrown if the server refuses the request itself, for example because the model is unknown, the prompt is too long or
 * the request is not allowed. Sending it again would not help.
 */
export class ModelRefusal extends AgentJetError {
  readonly reason: Reason;

  /** `code` is the code of the corresponding EngineError, such as `context_overflow`. */
  constructor(code: string, message: string, reason: Reason) {
    super(code, message);
    this.reason = reason;
  }
}

/**
 * Thrown if the model cannot be reached because of the connection, the server, time, a quota or refused keys. It says
 * nothing about the request.
 */
export class ModelOutage extends Outage {
  readonly reason: Reason;

  constructor(message: string, host: string, reason: Reason = {}) {
    super(message, { host });
    this.reason = reason;
  }
}

/** A request with its approximate number of tokens. */
export type Sending<Answer> = Request<Answer> & {
  readonly tokens?: number;
  /** The number of tokens that the server reports. 0 if it reports none. */
  readonly countTokens?: (answer: Answer) => number;
};

/** Sends requests to one server, with several keys, within limits, and repeats requests that may succeed later. */
export class RequestSender {
  readonly #options: SenderOptions;
  readonly #keys: KeyRing;
  readonly #host: ModelHost;
  readonly #queue: PQueue | null;
  readonly #budget: TokenBudget | null;

  constructor(options: SenderOptions, host: ModelHost) {
    const { maxConcurrent, requestsPerMinute = null, tokensPerMinute = null } = options.limits ?? {};
    this.#options = options;
    this.#keys = new KeyRing(options.keys);
    this.#host = host;
    this.#queue =
      maxConcurrent === undefined
        ? null
        : new PQueue({
            concurrency: maxConcurrent,
            ...(requestsPerMinute !== null && { interval: 60_000, intervalCap: requestsPerMinute }),
          });
    this.#budget = tokensPerMinute === null ? null : new TokenBudget(tokensPerMinute, host);
  }

  /** Rejects with ModelOutage, with ModelRefusal, or with the signal's reason. */
  async send<Answer extends object>(request: Sending<Answer>, signal: AbortSignal): Promise<Answer> {
    const { retries, url } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#sendOnce(request, signal);
      if (sent.kind === 'answer') return sent.answer;
      const message = this.#keys.redact(sent.message);
      if (sent.kind === 'refused')
        throw new ModelRefusal(sent.code, `${url.host} refuses the request: ${message}`, this.#reasonOf(sent));
      const areAllRetired = this.#keys.areAllRetired;
      if (attempt > retries.maxRetries || (sent.kind === 'bad_key' && areAllRetired)) throw this.#outage(sent);
      if (!areAllRetired) await this.#wait({ ...sent, message }, attempt, signal);
    }
  }

  async #wait(failed: Failed, attempt: number, signal: AbortSignal): Promise<void> {
    const { retries } = this.#options;
    const { maxRetries, onRetry } = retries;
    const askedMs = failed.kind === 'unavailable' ? (failed.waitMs ?? 0) : 0;
    const restMs = Math.max(askedMs, this.#keys.restMs(this.#host.now()));
    if (restMs > longestRestMs && maxRetries < Infinity) throw this.#resting(restMs);
    const waitMs = Math.max(restMs, gapAfter(attempt, retries, this.#host.random()));
    onRetry?.(failed.said ?? failed.message, waitMs);
    await this.#host.sleep(waitMs, signal);
  }

  async #sendOnce<Answer extends object>(request: Sending<Answer>, signal: AbortSignal): Promise<Sent<Answer>> {
    const correct = await this.#budget?.take(request.tokens ?? 0, signal);
    const key = await this.#takeKey(signal);
    let isSettled = false;
    try {
      const sendIt = (): Promise<Sent<Answer>> => this.#sendWith(key, request, signal);
      const sent = await (this.#queue === null ? sendIt() : this.#queue.add(sendIt, { signal }));
      this.#settle(key, sent);
      isSettled = true;
      const tokens = sent.kind === 'answer' ? (request.countTokens?.(sent.answer) ?? 0) : 0;
      if (tokens > 0) correct?.(tokens);
      return sent;
    } finally {
      if (!isSettled) this.#keys.release(key);
    }
  }

  #sendWith<Answer extends object>(key: Key, request: Request<Answer>, signal: AbortSignal): Promise<Sent<Answer>> {
    const { url, limit } = this.#options;
    const authorization = key.value === '' ? undefined : `${key.scheme ?? 'Bearer'} ${key.value}`;
    return sendRequest(request, { url: url.href, authorization, limit }, { host: this.#host, signal });
  }

  async #takeKey(signal: AbortSignal): Promise<Key> {
    for (;;) {
      const taken = this.#keys.take(this.#host.now());
      if ('key' in taken) return taken.key;
      if (taken.waitMs > longestRestMs) throw this.#resting(taken.waitMs);
      await this.#host.sleep(taken.waitMs, signal);
    }
  }

  #outage(failed: Failed): ModelOutage {
    const [keys, { url, model }] = [this.#keys, this.#options];
    const about = keys.areAllRetired ? `No key of ${keys.names.join(', ')} is accepted` : 'No answer';
    const message = `${about} at ${url.host} (model ${model}): ${keys.redact(failed.message)}`;
    return new ModelOutage(message, url.host, this.#reasonOf(failed));
  }

  #resting(waitMs: number): ModelOutage {
    const [keys, { url, model }] = [this.#keys, this.#options];
    return new ModelOutage(
      `The rate limit of every key of ${keys.names.join(', ')} at ${url.host} (model ${model}) lasts ${Math.round(waitMs / 60_000)} more minutes`,
      url.host,
    );
  }

  #reasonOf({ status, said }: Failed): Reason {
    return { status, said: said === undefined ? undefined : this.#keys.redact(said) };
  }

  #settle(key: Key, sent: Sent<object>): void {
    const [keys, host] = [this.#keys, this.#host];
    if (sent.kind === 'bad_key') keys.retire(key, host.now());
    else if (sent.kind === 'busy') keys.rest(key, host.now() + (sent.waitMs ?? 2 * this.#options.retries.firstGapMs));
    else if (sent.kind === 'answer') keys.succeed(key);
    else keys.release(key);
  }
}

/**
 * Opens a sender whose keys are read from the environment. Throws ConfigError if there is no key or the
 * address is wrong.
 */
export function openSender(options: ServerOptions, route: string, host: ModelHost): RequestSender {
  const { timeoutSeconds, maxRetries, ...limits } = options.limits;
  const url = readModelAddress(options.baseUrl, route);
  return new RequestSender(
    {
      url,
      model: options.model,
      keys: readKeys(options, host.environment, url),
      retries: { ...usualRetries, maxRetries },
      limit: { ms: timeoutSeconds * 1000, of: 'request' },
      limits,
    },
    host,
  );
}

export function readModelAddress(baseUrl: string, route: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ConfigError(
      'bad_address',
      `The address of the model is ${JSON.stringify(baseUrl)}. Write http(s)://host/v1; keys belong in the environment.`,
    );
  return new URL(`${url.pathname.replace(/\/+$/, '')}/${route}`, url);
}
