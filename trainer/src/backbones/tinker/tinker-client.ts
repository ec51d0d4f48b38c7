/**
 * Requests of the Tinker API over HTTP, as JSON; those over rows and their answers as protobuf if the server wants it. A server answers most of them with a future, which is asked for until it is
 * there. What can be sent twice without harm is sent again if no answer comes: a request carries a sequence number, so
 * the server gives the same future for it and computes nothing a second time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BackboneError, isJsonObject, toErrorMessage, type JsonObject } from '@agentjet/core';
import { closedError, isWireRefusal, LostError, toFailure } from './tinker-errors.js';
import { readProtobuf, type AnswerKind } from './wire/proto-answers.js';
import { jsonRoute, protobufRoute, toJsonBody, toProtobuf, type RowRequest } from './wire/row-request.js';

export type TinkerClientOptions = {
  /** Such as `http://trainer.cluster:8000`, with or without a slash at the end. */
  readonly baseUrl: string;
  /** Sent as X-API-Key; never part of a message. */
  readonly apiKey: string | null;
  /** How long a request is repeated, not counting the time that the server itself takes. Default 5 minutes. */
  readonly patienceMs?: number;
  /** Default `auto`: JSON, and protobuf after a server has refused the first rows as JSON. */
  readonly wire?: Wire;
  /** Waits between two attempts; tests give one that does not. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A request that is sent again is computed again: after a lost connection the model is given up instead. */
  readonly ignoresNumbers?: boolean;
};

export const wires = ['auto', 'json', 'protobuf'] as const;
export type Wire = (typeof wires)[number];

/** What a server has promised to compute. */
export type TinkerFuture = { readonly route: string; readonly submitted: JsonObject; readonly answers?: AnswerKind };

/** A body as protobuf, or as JSON. */
type Body = JsonObject | Buffer | undefined;

type RequestOptions = {
  /** Instead of the client's. */
  readonly patienceMs?: number;
};

const defaultPatienceMs = 5 * 60_000;
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
  readonly #wait: NonNullable<TinkerClientOptions['wait']>;
  /** As the option; the seam check may find out later. */
  ignoresNumbers: boolean;
  #secondsPaused = 0;
  #wire: Wire;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<AbortController>();

  constructor({
    baseUrl,
    apiKey,
    patienceMs = defaultPatienceMs,
    wire = 'auto',
    wait = waitFor,
    ignoresNumbers = false,
  }: TinkerClientOptions) {
    this.ignoresNumbers = ignoresNumbers;
    this.#wire = wire;
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#patienceMs = patienceMs;
    this.#wait = wait;
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

  /** A file, whole. Redirects are followed without the key. */
  async download(route: string): Promise<Buffer> {
    let reply = await this.#fetch(this.#urlOf(route), { headers: this.#headers() });
    for (let count = 0; count < mostRedirects && reply.status >= 300 && reply.status < 400; count++)
      reply = await this.#fetch(new URL(reply.headers.get('location') ?? '', reply.url), {});
    if (!reply.ok) throw this.#failure(route, reply.status, reply.bytes.toString('utf8'));
    return reply.bytes;
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

  async #repeat(
    route: string,
    body: Body,
    options: RequestOptions & {
      readonly isPoll?: boolean;
      readonly asked?: string;
      readonly answers?: AnswerKind;
    } = {},
  ): Promise<JsonObject> {
    const { patienceMs = this.#patienceMs, isPoll = false, asked = route, answers } = options;
    let waited = 0;
    for (let delay = firstWaitMs; ; delay = Math.min(2 * delay, longestWaitMs)) {
      const attempt = await this.#attempt(route, body, answers);
      if (attempt.kind === 'answer') return attempt.value;
      if (attempt.kind === 'refused') throw this.#failure(asked, attempt.status, attempt.text);
      if (isPoll && attempt.status === 408) return { type: 'try_again' };
      if (waited >= patienceMs) throw this.#silence(asked, attempt.text, waited);
      const pause = attempt.retryAfterMs ?? delay;
      waited += pause;
      await this.#pause(pause);
    }
  }

  async #attempt(route: string, body: Body, answers: AnswerKind | undefined): Promise<Attempt> {
    const content = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
    const headers = this.#headers(Buffer.isBuffer(body), answers);
    let reply: Reply;
    try {
      reply = await this.#fetch(
        this.#urlOf(route),
        body === undefined ? { headers } : { method: 'POST', headers, body: content },
      );
    } catch (error) {
      if (this.isClosed) throw closedError(error);
      if (this.ignoresNumbers && notTwice.has(route))
        throw new LostError(`the connection was lost in ${route}, and the server may have computed it`, error);
      return { kind: 'again', status: 0, text: describeCause(error), retryAfterMs: undefined };
    }
    const { status, bytes } = reply;
    if (this.ignoresNumbers && notTwice.has(route) && ambiguous.includes(status))
      throw new LostError(`${route} was answered with status ${status}, and the server may have computed it`);
    if (status === 408 || status === 429 || status >= 500) {
      const seconds = Number(reply.headers.get('retry-after') ?? Number.NaN);
      return { kind: 'again', status, text: `status ${status}`, retryAfterMs: toRetryMs(seconds) };
    }
    const isProtobuf = reply.ok && reply.headers.get('content-type')?.includes(protobuf) === true;
    if (isProtobuf && answers !== undefined) return { kind: 'answer', value: readProtobuf(bytes, answers) };
    const text = bytes.toString('utf8');
    if (!reply.ok) return { kind: 'refused', status, text };
    const value = parseJson(text);
    return isJsonObject(value)
      ? { kind: 'answer', value }
      : { kind: 'refused', status, text: `no JSON object: ${text}` };
  }

  /** A signal for each request: fetch takes its listener off one only when it is collected, and a run asks for a long time. */
  async #fetch(url: URL, init: RequestInit): Promise<Reply> {
    if (this.isClosed) throw closedError();
    const leaving = new AbortController();
    this.#underWay.add(leaving);
    try {
      const response = await fetch(url, { ...init, redirect: 'manual', signal: leaving.signal });
      const { status, ok, headers } = response;
      return { status, ok, headers, url: response.url, bytes: Buffer.from(await response.arrayBuffer()) };
    } finally {
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
      await this.#wait(ms, this.#closing.signal);
    } catch (error) {
      throw this.isClosed ? closedError(error) : error;
    }
  }

  #silence(route: string, problem: string, waited: number): BackboneError {
    const asked = `No answer from ${this.#baseUrl} to ${route} in ${Math.round(waited / 1000)} s of asking again`;
    return new BackboneError(
      'unreachable',
      `${asked} (last: ${this.#redact(problem)}). Is the server up, and is tinker.base_url its address? When it answers again, --resume goes on from the last checkpoint.`,
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

type Attempt =
  | { readonly kind: 'answer'; readonly value: JsonObject }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  | {
      readonly kind: 'again';
      readonly status: number;
      readonly text: string;
      readonly retryAfterMs: number | undefined;
    };

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}

function toRetryMs(seconds: number): number | undefined {
  return seconds > 0 ? Math.min(1000 * seconds, 60_000) : undefined;
}

/** Of a failed fetch, whose own message says nothing. */
function describeCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? toErrorMessage(error.cause) : toErrorMessage(error);
}

/** Python writes numbers that are not finite as words, which JSON does not have: they become null. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(text.replaceAll(/([[:,]\s*)-?(?:NaN|Infinity)(?=\s*[\],}])/g, '$1null'));
    } catch {
      return undefined;
    }
  }
}
