import { performance } from 'node:perf_hooks';
import type { HttpAnswer } from '@agentjet/model-client';
import { fetchHere, isHere } from './loopback-host.js';

/** Everything that the client's protocol uses from the machine, so a simulation can replace it. */
export type ClientHost = {
  /** The time in milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Runs the action once. The returned function cancels it. */
  readonly after: (ms: number, action: () => void) => () => void;
  /** A random number, uniform in [0, 1). */
  readonly random: () => number;
};

/** The clock, the timers and the randomness of this process. */
export const systemClientHost: ClientHost = {
  now: () => performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Sends a request. A program can replace it, for example to record or to count requests. */
export type HostFetch = (url: string, init: RequestInit) => Promise<HttpAnswer>;

const ownFetch = globalThis.fetch;

/**
 * Sends a request with fetch, or with `fetchHere` if the server is on this machine. It looks up fetch at each call, so a
 * replacement made in the meantime is used.
 */
export const systemFetch: HostFetch = async (url, init) => {
  const isReplaced = globalThis.fetch !== ownFetch;
  const answer = !isReplaced && isHere(url, init) ? await fetchHere(url, init) : undefined;
  return answer ?? globalThis.fetch(url, init);
};

/** Runs the action with a signal that aborts when the time is over. */
export async function withTimeLimit<Result>(
  ms: number,
  action: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const cancel = systemClientHost.after(ms, () => controller.abort(new Error(`no answer in ${ms / 1000} s`)));
  try {
    return await action(controller.signal);
  } finally {
    cancel();
  }
}

/** Creates a random name. */
export function newId({ random }: Pick<ClientHost, 'random'>): string {
  const part = (): string =>
    Math.floor(random() * 2 ** 48)
      .toString(36)
      .padStart(10, '0');
  return part() + part();
}
