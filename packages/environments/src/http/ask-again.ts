import { setTimeout as wait } from 'node:timers/promises';
import { EnvironmentOutage } from '@agentjet/core';
import { ServerOutage } from './post-json.js';

const firstGapMs = 50;
const longestGapMs = 2000;

export type AskAgainOptions = {
  /** Ends the wait for a server without room. Without a signal, such a server gets as many attempts as any other. */
  readonly signal?: AbortSignal;
  /** Attempts of a request that may have been received. A server without room is tried until the signal aborts. */
  readonly tries: number;
};

/**
 * Repeats a request after an outage. Use it only for requests that may be received twice: to list tasks, open, evaluate
 * or close. Gaps grow from 50 ms to 2 s.
 */
export async function askAgain<T>(ask: () => Promise<T>, { signal, tries }: AskAgainOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const isFull = signal !== undefined && error instanceof ServerOutage && error.kind === 'full';
      if (!(error instanceof EnvironmentOutage) || (!isFull && attempt >= tries)) throw error;
      await wait(
        Math.min(longestGapMs, firstGapMs * 2 ** (attempt - 1)),
        undefined,
        signal === undefined ? {} : { signal },
      );
    }
  }
}

const longestCloseMs = 60_000;
const longestListMs = 60_000;

/** Returns the time limit of requests that end a session: a server that never answers must not keep the process alive. */
export const closeSignal = (ms = longestCloseMs): AbortSignal => AbortSignal.timeout(ms);

/**
 * Returns the time limit of a request for the list of tasks, to which the limits of episodes do not apply. It aborts
 * with an outage of the server.
 */
export function listSignal(host: string, ms = longestListMs): AbortSignal {
  const controller = new AbortController();
  const late = new ServerOutage('lost', `${host} gave no complete list of tasks in ${ms / 1000} s.`, { host });
  setTimeout(() => controller.abort(late), ms).unref();
  return controller.signal;
}
