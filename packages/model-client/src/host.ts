import { setTimeout as wait } from 'node:timers/promises';

export type HttpRequest = {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly redirect: 'error';
};

/** The part of a Response that clients read. */
export type HttpAnswer = Pick<Response, 'ok' | 'status' | 'text'> & {
  readonly headers: Pick<Headers, 'get'>;
  readonly body: AsyncIterable<Uint8Array> | null;
};

/** The parts of the machine that a client uses, so a test can give it a clock and a network. */
export type ModelHost = {
  /** The time of a monotonic clock, in ms. */
  readonly now: () => number;
  /** Rejects if the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A random number in [0, 1). */
  readonly random: () => number;
  readonly fetch: (url: string, request: HttpRequest) => Promise<HttpAnswer>;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

export const systemModelHost: ModelHost = {
  now: () => performance.now(),
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
  random: () => Math.random(),
  fetch: (url, request) => globalThis.fetch(url, request),
  environment: process.env,
};
