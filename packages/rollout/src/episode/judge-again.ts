import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError, toErrorMessage, type Verdict } from '@agentjet/core';
import { outageOf } from '../outage/outage-of.js';

export type JudgePatience = {
  /** How long the judge may be away, ms; null: for ever. */
  readonly patienceMs: number | null;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly onAway: (message: string) => void;
  /** Default: a timer that the signal ends. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
};

const firstGapMs = 1000;
const longestGapMs = 60_000;

const sleepByTimer = (ms: number, signal: AbortSignal): Promise<void> => wait(ms, undefined, { signal });

/**
 * Asks a judge that could not be reached again, after growing gaps, until it answers. The episode is over by then, so its time
 * limit does not count. Rejects with what the judge threw last once patience is over, or with any error that is not an outage.
 */
export async function judgeAgain(
  ask: () => Promise<Verdict>,
  first: unknown,
  { patienceMs, signal, onAway, sleep = sleepByTimer }: JudgePatience,
): Promise<Verdict> {
  let waitedMs = 0;
  let thrown = first;
  for (let gapMs = firstGapMs; ; gapMs = Math.min(2 * gapMs, longestGapMs)) {
    if (patienceMs !== null && waitedMs + gapMs > patienceMs) throw thrown;
    onAway(toErrorMessage(thrown));
    await sleep(gapMs, signal);
    waitedMs += gapMs;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ConfigError || outageOf(error) === undefined) throw error;
      thrown = error;
    }
  }
}
