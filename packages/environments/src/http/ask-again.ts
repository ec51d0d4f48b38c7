import { setTimeout as wait } from 'node:timers/promises';
import { EnvironmentOutage } from '@agentjet/core';
import { ServerOutage } from './post-json.js';

const firstGapMs = 50;
const longestGapMs = 2000;

export type AskAgainOptions = {
  readonly signal: AbortSignal;
  /** Tries of a request that may have been received. A server without room is asked until the signal aborts. */
  readonly tries: number;
};

/** Only for what may be received twice: to open, to evaluate, to close. Gaps grow from 50 ms to 2 s. */
export async function askAgain<T>(ask: () => Promise<T>, { signal, tries }: AskAgainOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const isFull = error instanceof ServerOutage && error.kind === 'full';
      if (!(error instanceof EnvironmentOutage) || (!isFull && attempt >= tries)) throw error;
      await wait(Math.min(longestGapMs, firstGapMs * 2 ** (attempt - 1)), undefined, { signal });
    }
  }
}
