import { performance } from 'node:perf_hooks';

/**
 * Everything that the ledger and the swarm's protocol take from the machine. The rest of their code has no timers, no
 * wall clock and no global randomness, so that a simulation can replace all of it.
 */
export type Host = {
  /** Returns milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Runs the action once after `ms` milliseconds. The returned function cancels it. */
  readonly after: (ms: number, action: () => void) => () => void;
  /** Returns a uniform number in [0, 1). */
  readonly random: () => number;
};

/** The host of a real process has a monotonic clock, timers that keep no process alive, and random numbers. */
export const systemHost: Host = {
  now: () => performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves in a later turn of the event loop, so that other work runs in between. It takes no time of any clock. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
