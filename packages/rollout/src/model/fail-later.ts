import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const longestPauseMs = 1000;

/**
 * Tells of a failed call in a later turn of the event loop. A workflow that tries again and again without a pause would otherwise
 * leave no other code its turn: no time limit, no Ctrl-C, no other episode. Once `signal` has aborted nothing can
 * succeed any more, and each call waits twice as long as the one before it.
 */
export function createFailLater(signal: AbortSignal): (error: unknown) => Promise<never> {
  let pauseMs = 1;
  return async (error) => {
    if (signal.aborted) await sleep(pauseMs, undefined, { ref: false });
    else await nextTurn();
    if (signal.aborted) pauseMs = Math.min(longestPauseMs, 2 * pauseMs);
    throw error;
  };
}
