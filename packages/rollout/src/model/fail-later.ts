import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const longestPauseMs = 1000;

type Pace = { hasFailed: boolean; pauseMs: number };

/** By the signal of the episode, which all its models share. */
const paces = new WeakMap<AbortSignal, Pace>();

function paceOf(signal: AbortSignal): Pace {
  const pace = paces.get(signal) ?? { hasFailed: false, pauseMs: 1 };
  paces.set(signal, pace);
  return pace;
}

/**
 * Rejects with the error: at once where it is the episode's first in this turn of the event loop, else in a later turn. A workflow
 * that tries again and again without a pause would otherwise leave no other code its turn: no time limit, no Ctrl-C, no other
 * episode. Once `signal` has aborted nothing can succeed any more, and each pause is twice as long as the one before it.
 */
export async function failLater(signal: AbortSignal, error: unknown): Promise<never> {
  const pace = paceOf(signal);
  if (!pace.hasFailed) {
    pace.hasFailed = true;
    setImmediate(() => {
      pace.hasFailed = false;
    });
  } else if (signal.aborted) {
    await sleep(pace.pauseMs, undefined, { ref: false });
    pace.pauseMs = Math.min(longestPauseMs, 2 * pace.pauseMs);
  } else {
    await nextTurn();
  }
  throw error;
}
