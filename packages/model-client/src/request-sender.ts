import PQueue from 'p-queue';
import { AgentJetError, ConfigError, Outage } from '@agentjet/core';
import { systemHost, type ClientHost } from './host.js';
import { KeyRing, readKeys, type Key, type KeyNames } from './key-ring.js';
import { sendRequest, type Request, type Sent } from './send-request.js';
import { TokenBudget } from './token-budget.js';

export type ServerOptions = KeyNames & {
  /** Of an OpenAI-compatible server, with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly limits: {
    readonly maxConcurrent: number;
    readonly requestsPerMinute: number | null;
    readonly tokensPerMinute: number | null;
    readonly timeoutSeconds: number;
    /** Further tries of one request. */
    readonly maxRetries: number;
  };
};

/** The server says that the request itself is wrong: an unknown model, too long, not allowed. Sending it again would not help. */
export class ModelRefusal extends AgentJetError {}

const firstGapMs = 500;
const longestGapMs = 30_000;
/** A rate limit that lasts longer, such as one for a day, is an outage: waiting in silence would look like a run that hangs. */
const longestRestMs = 300_000;

/** A request with about how many tokens it takes. */
export type Sending<Answer> = Request<Answer> & {
  readonly tokens: number;
  /** What it took, once the server has said so; 0: it did not. */
  readonly countTokens: (answer: Answer) => number;
};

/** Sends requests to one server, with several keys, within limits, and again if they may succeed. */
export class RequestSender {
  readonly #options: ServerOptions;
  readonly #url: URL;
  readonly #keys: KeyRing;
  readonly #host: ClientHost;
  readonly #queue: PQueue;
  readonly #budget: TokenBudget | null;

  /** Reads the keys from the environment. Throws ConfigError if there is none, or if the address is wrong. */
  constructor(options: ServerOptions, route: string, host: ClientHost = systemHost) {
    const { maxConcurrent, requestsPerMinute, tokensPerMinute } = options.limits;
    this.#options = options;
    this.#url = readAddress(options.baseUrl, route);
    this.#keys = new KeyRing(readKeys(options, host.environment, this.#url));
    this.#host = host;
    this.#queue = new PQueue({
      concurrency: maxConcurrent,
      ...(requestsPerMinute !== null && { interval: 60_000, intervalCap: requestsPerMinute }),
    });
    this.#budget = tokensPerMinute === null ? null : new TokenBudget(tokensPerMinute, host);
  }

  /** Rejects with Outage, with ModelRefusal, or with the signal's reason. */
  async send<Answer extends object>(request: Sending<Answer>, signal: AbortSignal): Promise<Answer> {
    const [options, url, keys, host] = [this.#options, this.#url, this.#keys, this.#host];
    let last = '';
    for (let attempt = 0; attempt <= options.limits.maxRetries; attempt++) {
      if (attempt > 0 && !keys.areAllRetired) await host.sleep(this.#gapMs(attempt), signal);
      const sent = await this.#sendOnce(request, signal);
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
    return Math.min(longestGapMs, firstGapMs * 2 ** (attempt - 1)) * (0.5 + this.#host.random() / 2);
  }

  async #sendOnce<Answer extends object>(request: Sending<Answer>, signal: AbortSignal): Promise<Sent<Answer>> {
    const correct = await this.#budget?.take(request.tokens, signal);
    const key = await this.#takeKey(signal);
    let isSettled = false;
    try {
      const sent = await this.#queue.add(() => this.#sendWith(key, request, signal), { signal });
      this.#settle(key, sent);
      isSettled = true;
      const tokens = sent.kind === 'answer' ? request.countTokens(sent.answer) : 0;
      if (tokens > 0) correct?.(tokens);
      return sent;
    } finally {
      if (!isSettled) this.#keys.release(key);
    }
  }

  #sendWith<Answer extends object>(key: Key, request: Request<Answer>, signal: AbortSignal): Promise<Sent<Answer>> {
    const timeoutMs = this.#options.limits.timeoutSeconds * 1000;
    return sendRequest(request, { url: this.#url.href, key: key.value, timeoutMs }, { host: this.#host, signal });
  }

  async #takeKey(signal: AbortSignal): Promise<Key> {
    for (;;) {
      const taken = this.#keys.take(this.#host.now());
      if ('key' in taken) return taken.key;
      if (taken.waitMs > longestRestMs) throw this.#resting(taken.waitMs);
      await this.#host.sleep(Math.min(taken.waitMs, longestGapMs), signal);
    }
  }

  #resting(waitMs: number): Outage {
    const [keys, url, options] = [this.#keys, this.#url, this.#options];
    return new Outage(
      `The rate limit of every key of ${keys.names.join(', ')} at ${url.host} (model ${options.model}) lasts ${Math.round(waitMs / 60_000)} more minutes`,
      { host: url.host },
    );
  }

  #settle(key: Key, sent: Sent<object>): void {
    const [keys, host] = [this.#keys, this.#host];
    if (sent.kind === 'bad_key') keys.retire(key, host.now());
    else if (sent.kind === 'busy') keys.rest(key, host.now() + (sent.waitMs ?? 2 * firstGapMs));
    else if (sent.kind === 'answer') keys.succeed(key);
    else keys.release(key);
  }
}

function readAddress(baseUrl: string, route: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ConfigError(
      'bad_address',
      `The address of the model is ${JSON.stringify(baseUrl)}. Write http(s)://host/v1; keys belong in the environment.`,
    );
  return new URL(`${url.pathname.replace(/\/+$/, '')}/${route}`, url);
}
