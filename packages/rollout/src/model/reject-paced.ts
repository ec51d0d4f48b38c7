import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const longestPauseMs = 1000;

type Pace = { hasFailed: boolean; pauseMs: number };

/** The pace of each episode. The key is the episode's signal, which all of its models share. */
const paces = new WeakMap<AbortSignal, Pace>();

function paceOf(signal: AbortSignal): Pace {
  const pace = paces.get(signal) ?? { hasFailed: false, pauseMs: 1 };
  paces.set(signal, pace);
  return pace;
}

/**
 * Rejects with the error. The episode's first error in a turn of the event loop rejects at once. Further errors reject
 * in later turns. Otherwise a workflow that retries without a pause would block all other code: time limits, Ctrl-C and
 * other episodes. Once `signal` has aborted, nothing can succeed, and each pause is twice as long as the one before.
 */
export async function rejectPaced(signal: AbortSignal, error: unknown): Promise<never> {
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
