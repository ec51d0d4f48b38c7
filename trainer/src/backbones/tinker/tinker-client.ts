/**
 * Sends requests of the Tinker API over HTTP, as JSON. Requests with rows, and their answers, are protobuf if the
 * server requires it. A server answers most requests with a future, and the client asks for the future until it is
 * ready. If no answer comes, the client repeats the request if that is safe. Most requests have a sequence number, for
 * which the server returns the same future without computing the request a second time. `@agentjet/model-client` is not
 * used here, because it does not support futures, and because a repeated request could train twice.
 */

import { BackboneError, cutText, isJsonObject, parseJson, toErrorMessage, type JsonObject } from '@agentjet/core';
import { attemptClock, type AttemptClock } from './attempt-clock.js';
import type { Wire } from './profiles.js';
import { closedError, isWireRefusal, LostError, RefusedError, toFailure } from './tinker-errors.js';
import { readProtobuf, type AnswerKind } from './wire/proto-answers.js';
import { jsonRoute, protobufRoute, toJsonBody, toProtobuf, type RowRequest } from './wire/row-request.js';

export type TinkerClientOptions = {
  /** Such as `http://trainer.cluster:8000`, with or without a slash at the end. */
  readonly baseUrl: string;
  /** Sent as X-API-Key; never part of a message. */
  readonly apiKey: string | null;
  /** How long a request is repeated, and how long the server may be silent. Defaults to 5 minutes. */
  readonly patienceMs?: number;
  /** Defaults to `auto`: JSON, and protobuf after a server has refused the first rows as JSON. */
  readonly wire?: Wire;
  /** Tests pass a clock that does not wait. */
  readonly clock?: AttemptClock;
  /** Set if the server computes a repeated request again. The model is then discarded after a lost connection. */
  readonly ignoresNumbers?: boolean;
};

/** A result that a server has promised to compute. */
export type TinkerFuture = { readonly route: string; readonly submitted: JsonObject; readonly answers?: AnswerKind };

/** A body as protobuf, or as JSON. */
type Body = JsonObject | Uint8Array | undefined;

type RequestOptions = {
  /** Used instead of the client's limit. */
  readonly patienceMs?: number;
  /** How long one attempt may be silent. */
  readonly limitMs?: number;
};

const defaultPatienceMs = 5 * 60_000;
const limitMs = 2 * 60_000;
/**
 * The maximum time of a request that waits on the server for a result. Node itself gives up after five minutes without
 * response headers.
 */
const pollLimitMs = 4 * 60_000;
const firstWaitMs = 100;
const longestWaitMs = 10_000;
const firstPollMs = 5;
const longestPollMs = 1000;
const mostRedirects = 3;
const goodbyeMs = 5000;
const protobuf = 'application/x-protobuf';
/**
 * These requests are not repeated on a server that ignores sequence numbers. It would add their gradients a second
 * time, or refuse them because the name of a checkpoint is taken.
 */
const notTwice = new Set(['forward_backward', 'optim_step', 'save_weights', 'save_weights_for_sampler']);

/**
 * A proxy may send these statuses although the server has accepted the request. With 429 and 503, the server has not
 * accepted it.
 */
const ambiguous = [408, 500, 502, 504];

/**
 * `queue_state` is `active`, or the reason why the server computes nothing: `paused_capacity` or `paused_rate_limit`.
 */
const isPaused = ({ queue_state: state }: JsonObject): boolean =>
  typeof state === 'string' && state.startsWith('paused');

export class TinkerClient {
  readonly #baseUrl: string;
  readonly #apiKey: string | null;
  readonly #patienceMs: number;
  readonly #clock: AttemptClock;
  /** The initial value is the option of the same name. The seam check may change it. */
  ignoresNumbers: boolean;
  /** Set if there may be a checkpoint to resume from. */
  hasBegun = false;
  /** The time of the server's last answer to any request. */
  #heardAt = -Infinity;
  #secondsPaused = 0;
  #wire: Wire;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<AbortController>();

  constructor({
    baseUrl,
    apiKey,
    patienceMs = defaultPatienceMs,
    wire = 'auto',
    clock = attemptClock,
    ignoresNumbers = false,
  }: TinkerClientOptions) {
    this.ignoresNumbers = ignoresNumbers;
    this.#wire = wire;
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#patienceMs = patienceMs;
    this.#clock = clock;
  }

  /** Rejects everything in progress, and every later request, with `closed`. */
  close(): void {
    this.#closing.abort();
    for (const request of this.#underWay) request.abort();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The format in which rows are sent. It is `auto` until the first rows have been sent. */
  get wire(): Wire {
    return this.#wire;
  }

  /** The total time that requests waited because the server had no room, as the server reports it. */
  get secondsPaused(): number {
    return this.#secondsPaused;
  }

  get(route: string, options?: RequestOptions): Promise<JsonObject> {
    return this.#repeat(route, undefined, options);
  }

  post(route: string, body: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    return this.#repeat(route, body, options);
  }

  /**
   * Sends a request whose answer is a future. Returns the future's result, merged over the fields of the first answer.
   */
  async call(route: string, body: JsonObject, answers?: AnswerKind): Promise<JsonObject> {
    return await this.result({ ...(await this.submit(route, body)), ...(answers && { answers }) });
  }

  /** Sends rows as JSON or protobuf, and does not wait until they are computed. */
  async submitRows(request: RowRequest): Promise<TinkerFuture> {
    if (this.#wire === 'protobuf') return await this.#submitProtobuf(request);
    const route = jsonRoute(request);
    try {
      const submitted = await this.post(route, toJsonBody(request));
      this.#wire = 'json';
      return { route, submitted, answers: 'rows' };
    } catch (error) {
      if (this.#wire === 'json' || !isWireRefusal(error)) throw error;
      const future = await this.#submitProtobuf(request).catch(() => undefined);
      if (future === undefined) throw error;
      this.#wire = 'protobuf';
      return future;
    }
  }

  async #submitProtobuf(request: RowRequest): Promise<TinkerFuture> {
    const submitted = await this.#repeat(protobufRoute, toProtobuf(request));
    return { route: protobufRoute, submitted, answers: 'rows' };
  }

  /** Sends a request and does not wait until it is computed. */
  async submit(route: string, body: JsonObject): Promise<TinkerFuture> {
    return { route, submitted: await this.post(route, body) };
  }

  async result({ route, submitted, answers }: TinkerFuture): Promise<JsonObject> {
    const id = submitted['request_id'];
    if (typeof id !== 'string') return submitted;
    return { ...submitted, ...(await this.#retrieve(route, id, answers)) };
  }

  /** Sends a last request once, even after `close`, and does not read the answer. */
  async tell(route: string, body: JsonObject): Promise<void> {
    const request = { method: 'POST', headers: this.#headers(), body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(goodbyeMs);
    await fetch(this.#urlOf(route), { ...request, redirect: 'manual', signal })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined);
  }

  /**
   * Downloads a whole file. Redirects are followed without the key. Rejects with RefusedError if the server does not
   * serve it.
   */
  async download(route: string): Promise<Uint8Array> {
    let reply = await this.#exchange({ route, url: this.#urlOf(route), init: { headers: this.#headers() } });
    for (let count = 0; count < mostRedirects && reply.status >= 300 && reply.status < 400; count++)
      reply = await this.#exchange({ route, url: new URL(reply.headers.get('location') ?? '', reply.url), init: {} });
    if (reply.ok) return reply.bytes;
    const text = this.#redact(cutText(reply.bytes.toString('utf8')));
    throw new RefusedError(`${this.#baseUrl} does not serve ${route} (status ${reply.status}): ${text}`, reply.status);
  }

  async #retrieve(route: string, id: string, answers: AnswerKind | undefined): Promise<JsonObject> {
    const options = { isPoll: true, asked: route, ...(answers && { answers }) };
    for (let delay = firstPollMs; ; delay = Math.min(2 * delay, longestPollMs)) {
      const answer = await this.#repeat('retrieve_future', { request_id: id }, options);
      if (answer['type'] === 'try_again') {
        const startedAt = performance.now();
        await this.#pause(delay);
        if (isPaused(answer)) this.#secondsPaused += (performance.now() - startedAt) / 1000;
        continue;
      }
      if (typeof answer['error'] === 'string') throw this.#failure(route, 200, answer['error']);
      return answer;
    }
  }

  /** Returns the answer in the shape that it has as JSON. */
  async #repeat(route: string, body: Body, options: JsonRequestOptions = {}): Promise<JsonObject> {
    const { isPoll = false, asked = route, answers } = options;
    const isBinary = body instanceof Uint8Array;
    const content = isBinary ? new Uint8Array(body) : JSON.stringify(body);
    const headers = this.#headers(isBinary, answers);
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: content };
    const reply = await this.#exchange({ ...options, route, asked, isPoll, url: this.#urlOf(route), init });
    if (isPoll && reply.status === 408) return { type: 'try_again' };
    const isProtobuf = reply.ok && reply.headers.get('content-type')?.includes(protobuf) === true;
    if (isProtobuf && answers !== undefined) return readProtobuf(reply.bytes, answers);
    const text = reply.bytes.toString('utf8');
    if (!reply.ok) throw this.#failure(asked, reply.status, text);
    const value = parsePythonJson(text);
    if (isJsonObject(value)) return value;
    throw new RefusedError(
      `${this.#baseUrl} answered ${asked} with something other than a JSON object: ${this.#redact(cutText(text))}`,
      reply.status,
    );
  }

  /**
   * Repeats the request until the server accepts it. The time without an answer counts from the server's last answer to
   * any request.
   */
  async #exchange(exchange: Exchange): Promise<Reply> {
    const { route, asked = route, patienceMs = this.#patienceMs } = exchange;
    const askedAt = this.#clock.now();
    let waited = 0;
    for (let delay = firstWaitMs; ; delay = Math.min(2 * delay, longestWaitMs)) {
      const startedAt = this.#clock.now();
      const attempt = await this.#attempt(exchange);
      if (attempt.kind === 'reply') return attempt.reply;
      const silence = this.#clock.now() - Math.max(startedAt, attempt.wasHeard ? startedAt : this.#heardAt);
      waited += Math.min(silence, patienceMs / 2);
      if (waited >= patienceMs) throw this.#silence(asked, attempt.text, Math.max(waited, this.#clock.now() - askedAt));
      const pause = attempt.retryAfterMs ?? delay;
      waited += pause;
      await this.#pause(pause);
    }
  }

  async #attempt(exchange: Exchange): Promise<Attempt> {
    const { route, isPoll = false } = exchange;
    const isOnce = this.ignoresNumbers && notTwice.has(route);
    let reply: Reply;
    try {
      reply = await this.#fetch(exchange);
    } catch (error) {
      if (this.isClosed) throw closedError(error);
      if (isOnce)
        throw new LostError(`the connection was lost in ${route}, and the server may have computed it`, error);
      return { kind: 'again', text: describeCause(error), wasHeard: false };
    }
    const { status, headers } = reply;
    if (isOnce && ambiguous.includes(status))
      throw new LostError(`${route} was answered with status ${status}, and the server may have computed it`);
    if (!isBusy(status) || (isPoll && status === 408)) return { kind: 'reply', reply };
    const retryAfterMs = toRetryMs(Number(headers.get('retry-after') ?? Number.NaN));
    return { kind: 'again', text: `status ${status}`, wasHeard: true, ...(retryAfterMs && { retryAfterMs }) };
  }

  /**
   * Creates a separate signal for each request. fetch removes its listener from a signal only when the garbage
   * collector runs, and the many requests of a run would add up.
   */
  async #fetch({
    url,
    init,
    isPoll = false,
    limitMs: limit = isPoll ? pollLimitMs : limitMs,
  }: Exchange): Promise<Reply> {
    if (this.isClosed) throw closedError();
    const leaving = new AbortController();
    this.#underWay.add(leaving);
    const expire = () => leaving.abort(new Error(`no answer within ${Math.round(limit / 1000)} s`));
    const clear = this.#clock.limit(limit, expire);
    try {
      const response = await fetch(url, { ...init, redirect: 'manual', signal: leaving.signal });
      const { status, ok, headers } = response;
      const bytes = Buffer.from(await response.arrayBuffer());
      this.#heardAt = this.#clock.now();
      return { status, ok, headers, url: response.url, bytes };
    } finally {
      clear();
      this.#underWay.delete(leaving);
    }
  }

  #urlOf(route: string): URL {
    return new URL(`${this.#baseUrl}/api/v1/${route}`);
  }

  /** `answers` may be protobuf, but only if the server supports it. */
  #headers(isProtobuf = false, answers?: AnswerKind): Record<string, string> {
    return {
      'content-type': isProtobuf ? protobuf : 'application/json',
      ...(answers !== undefined && this.#wire === 'protobuf' && { accept: `${protobuf}, application/json` }),
      ...(this.#apiKey !== null && { 'x-api-key': this.#apiKey }),
    };
  }

  async #pause(ms: number): Promise<void> {
    try {
      await this.#clock.wait(ms, this.#closing.signal);
    } catch (error) {
      throw this.isClosed ? closedError(error) : error;
    }
  }

  #silence(route: string, problem: string, waited: number): BackboneError {
    const goOn = this.hasBegun
      ? ' When the server answers again, continue from the last checkpoint with --resume.'
      : '';
    const asked = `No answer from ${this.#baseUrl} to ${route} in ${Math.round(waited / 1000)} s of repeated requests`;
    return new BackboneError(
      'unreachable',
      `${asked} (last: ${this.#redact(problem)}). Check that the server is up, and that tinker.base_url is its address.${goOn}`,
    );
  }

  #failure(route: string, status: number, text: string): BackboneError {
    return toFailure({ baseUrl: this.#baseUrl, route, status, text: this.#redact(text) });
  }

  #redact(text: string): string {
    return this.#apiKey ? text.replaceAll(this.#apiKey, '(the key)') : text;
  }
}

/** A response that was read to its end. */
type Reply = Pick<Response, 'status' | 'ok' | 'headers' | 'url'> & { readonly bytes: Buffer };

type JsonRequestOptions = RequestOptions & {
  readonly isPoll?: boolean;
  /** The route that a poll is for. */
  readonly asked?: string;
  readonly answers?: AnswerKind;
};

type Exchange = Omit<JsonRequestOptions, 'answers'> & {
  readonly route: string;
  readonly url: URL;
  readonly init: RequestInit;
};

type Attempt =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | {
      readonly kind: 'again';
      readonly text: string;
      /** Whether the server answered, even if it refused the request for now. */
      readonly wasHeard: boolean;
      readonly retryAfterMs?: number;
    };

/** Returns whether a repetition may succeed. 425 means that the result is not ready yet. 501 is permanent. */
function isBusy(status: number): boolean {
  return [408, 425, 429].includes(status) || (status >= 500 && status !== 501);
}

function toRetryMs(seconds: number): number | undefined {
  return seconds > 0 ? Math.min(1000 * seconds, 60_000) : undefined;
}

/** Returns the message of the cause of a failed fetch, because the error itself has no useful message. */
function describeCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? toErrorMessage(error.cause) : toErrorMessage(error);
}

/**
 * Replaces the words that Python writes for numbers that are not finite with null, because JSON does not allow them.
 */
function parsePythonJson(text: string): unknown {
  return parseJson(text) ?? parseJson(text.replaceAll(/([[:,]\s*)-?(?:NaN|Infinity)(?=\s*[\],}])/g, '$1null'));
}
