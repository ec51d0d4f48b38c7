import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError, toErrorMessage, type Verdict } from '@agentjet/core';
import type { JudgeOutage } from '../contract.js';
import { outageOf } from '../outage/outage-of.js';

export type JudgePatience = {
  /** How long the judge may be away, in ms. Null means without limit. */
  readonly patienceMs: number | null;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly onAway: (message: string) => void;
  /** Called when the waiting ends, with or without a verdict. */
  readonly onWaited?: (outage: JudgeOutage) => void;
  /** Calls the listener when the judge has answered another episode. Returns a function that removes the listener. */
  readonly onBack?: ((wake: () => void) => () => void) | undefined;
  /** Default: a timer that the signal ends. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
};

const firstGapMs = 1000;
const longestGapMs = 60_000;

const sleepByTimer = (ms: number, signal: AbortSignal): Promise<void> => wait(ms, undefined, { signal });

/**
 * Repeats a request to a judge that cannot be reached, after growing gaps, until the judge answers. If the judge
 * answers another episode, the request is repeated at once. The workflow has ended by then, so the time limit of the
 * episode does not apply. Rejects with the judge's last error when `patienceMs` is over, or with any error that is not
 * an outage.
 */
export async function judgeAgain(
  ask: () => Promise<Verdict>,
  first: unknown,
  { patienceMs, signal, onAway, onWaited, onBack, sleep = sleepByTimer }: JudgePatience,
): Promise<Verdict> {
  let waitedMs = 0;
  let thrown = first;
  let requests = 1;
  let isWoken = false;
  try {
    for (let gapMs = firstGapMs; ; gapMs = isWoken ? gapMs : Math.min(2 * gapMs, longestGapMs)) {
      if (patienceMs !== null && waitedMs + gapMs > patienceMs) throw thrown;
      onAway(toErrorMessage(thrown));
      // If the judge answers another episode, this episode asks at once. If that request fails, it asks again only after
      // the whole gap.
      const gap = { signal, sleep, onBack: isWoken ? undefined : onBack };
      const sleptMs = await restFor(gapMs, gap);
      isWoken = sleptMs !== undefined;
      waitedMs += sleptMs ?? gapMs;
      try {
        return await ask();
      } catch (error) {
        if (error instanceof ConfigError || outageOf(error) === undefined) throw error;
        thrown = error;
        requests++;
      }
    }
  } finally {
    onWaited?.({ requests, seconds: waitedMs / 1000 });
  }
}

type Gap = Required<Pick<JudgePatience, 'signal' | 'sleep'>> & Pick<JudgePatience, 'onBack'>;

/**
 * Waits for the gap. If the judge answers another episode earlier, it resolves at once with the milliseconds that it
 * waited.
 */
async function restFor(gapMs: number, { signal, sleep, onBack }: Gap): Promise<number | undefined> {
  const woken = new AbortController();
  const leave = onBack?.(() => woken.abort());
  const startedMs = performance.now();
  try {
    await sleep(gapMs, AbortSignal.any([signal, woken.signal]));
    return undefined;
  } catch (error) {
    if (signal.aborted || !woken.signal.aborted) throw error;
    return Math.min(gapMs, performance.now() - startedMs);
  } finally {
    leave?.();
  }
}
