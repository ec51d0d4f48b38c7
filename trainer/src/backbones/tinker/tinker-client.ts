/**
 * Not `@agentjet/model-client`: the Tinker API has futures, and a request that is repeated may train twice. Requests of the Tinker API over HTTP, as JSON; those over rows and their answers as protobuf if the server wants it. A server answers most of them with a future, which is asked for until it is
 * there. What can be sent twice without harm is sent again if no answer comes: a request carries a sequence number, so
 * the server gives the same future for it and computes nothing a second time.
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
  /** How long a request is repeated, and the server's silence waited for. Default 5 minutes. */
  readonly patienceMs?: number;
  /** Default `auto`: JSON, and protobuf after a server has refused the first rows as JSON. */
  readonly wire?: Wire;
  /** Tests give one that does not wait. */
  readonly clock?: AttemptClock;
  /** A request that is sent again is computed again: after a lost connection the model is given up instead. */
  readonly ignoresNumbers?: boolean;
};

/** What a server has promised to compute. */
export type TinkerFuture = { readonly route: string; readonly submitted: JsonObject; readonly answers?: AnswerKind };

/** A body as protobuf, or as JSON. */
type Body = JsonObject | Buffer | undefined;

type RequestOptions = {
  /** Instead of the client's. */
  readonly patienceMs?: number;
  /** How long one attempt may be silent. */
  readonly limitMs?: number;
};

const defaultPatienceMs = 5 * 60_000;
const limitMs = 2 * 60_000;
/** Of a request that waits at the server for a result; Node itself gives up after five minutes without a header. */
const pollLimitMs = 4 * 60_000;
const firstWaitMs = 100;
const longestWaitMs = 10_000;
const firstPollMs = 5;
const longestPollMs = 1000;
const mostRedirects = 3;
const goodbyeMs = 5000;
const protobuf = 'application/x-protobuf';
/** What a server that ignores sequence numbers would add a second time, or refuse because the name is taken. */
const notTwice = new Set(['forward_backward', 'optim_step', 'save_weights', 'save_weights_for_sampler']);

/** What a proxy may say of a request that the server has taken; 429 and 503 say that it was not. */
const ambiguous = [408, 500, 502, 504];

/** `queue_state` is `active`, or why nothing is computed: `paused_capacity`, `paused_rate_limit`. */
const isPaused = ({ queue_state: state }: JsonObject): boolean =>
  typeof state === 'string' && state.startsWith('paused');

export class TinkerClient {
  readonly #baseUrl: string;
  readonly #apiKey: string | null;
  readonly #patienceMs: number;
  readonly #clock: AttemptClock;
  /** As the option; the seam check may find out later. */
  ignoresNumbers: boolean;
  /** There may be a checkpoint to go on from. */
  hasBegun = false;
  /** When the server has last answered anything. */
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

  /** Rejects everything under way, and every later request, with `closed`. */
  close(): void {
    this.#closing.abort();
    for (const request of this.#underWay) request.abort();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** What rows are sent as; `auto` until the first have been sent. */
  get wire(): Wire {
    return this.#wire;
  }

  /** How long the server let answers wait because it had no room for them, all together, as it said itself. */
  get secondsPaused(): number {
    return this.#secondsPaused;
  }

  get(route: string, options?: RequestOptions): Promise<JsonObject> {
    return this.#repeat(route, undefined, options);
  }

  post(route: string, body: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    return this.#repeat(route, body, options);
  }

  /** A request whose answer is a future: what the future becomes, with the fields of the first answer under those of the second. */
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

  /** Says goodbye: sent once, even after `close`; its answer is not read. */
  async tell(route: string, body: JsonObject): Promise<void> {
    const request = { method: 'POST', headers: this.#headers(), body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(goodbyeMs);
    await fetch(this.#urlOf(route), { ...request, redirect: 'manual', signal })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined);
  }

  /** A file, whole. Redirects are followed without the key. Rejects with RefusedError if the server does not hand it out. */
  async download(route: string): Promise<Buffer> {
    let reply = await this.#exchange({ route, url: this.#urlOf(route), init: { headers: this.#headers() } });
    for (let count = 0; count < mostRedirects && reply.status >= 300 && reply.status < 400; count++)
      reply = await this.#exchange({ route, url: new URL(reply.headers.get('location') ?? '', reply.url), init: {} });
    if (reply.ok) return reply.bytes;
    const text = this.#redact(cutText(reply.bytes.toString('utf8')));
    throw new RefusedError(
      `${this.#baseUrl} does not hand out ${route} (status ${reply.status}): ${text}`,
      reply.status,
    );
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

  /** The answer in the shape that it has as JSON. */
  async #repeat(route: string, body: Body, options: JsonRequestOptions = {}): Promise<JsonObject> {
    const { isPoll = false, asked = route, answers } = options;
    const content = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
    const headers = this.#headers(Buffer.isBuffer(body), answers);
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
      `${this.#baseUrl} answered ${asked} with no JSON object: ${this.#redact(cutText(text))}`,
      reply.status,
    );
  }

  /** Asks again until the server takes the request. Silence counts from when the server was last heard, on any request. */
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

  /** A signal for each request: fetch takes its listener off one only when it is collected, and a run asks for a long time. */
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

  /** `answers` can be protobuf, which is asked for only of a server that takes it. */
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
    const goOn = this.hasBegun ? ' When it answers again, --resume goes on from the last checkpoint.' : '';
    const asked = `No answer from ${this.#baseUrl} to ${route} in ${Math.round(waited / 1000)} s of asking again`;
    return new BackboneError(
      'unreachable',
      `${asked} (last: ${this.#redact(problem)}). Is the server up, and is tinker.base_url its address?${goOn}`,
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
      /** It was answered, if only with a refusal for now. */
      readonly wasHeard: boolean;
      readonly retryAfterMs?: number;
    };

/** 425: what is asked for is still being made; 501 will not change. */
function isBusy(status: number): boolean {
  return [408, 425, 429].includes(status) || (status >= 500 && status !== 501);
}

function toRetryMs(seconds: number): number | undefined {
  return seconds > 0 ? Math.min(1000 * seconds, 60_000) : undefined;
}

/** Of a failed fetch, whose own message says nothing. */
function describeCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? toErrorMessage(error.cause) : toErrorMessage(error);
}

/** Python writes numbers that are not finite as words, which JSON does not have: they become null. */
function parsePythonJson(text: string): unknown {
  return parseJson(text) ?? parseJson(text.replaceAll(/([[:,]\s*)-?(?:NaN|Infinity)(?=\s*[\],}])/g, '$1null'));
}
