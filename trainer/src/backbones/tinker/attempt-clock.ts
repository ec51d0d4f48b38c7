import { setTimeout as sleep } from 'node:timers/promises';

/** The clock of the client. Tests replace it. */
export type AttemptClock = {
  /** The milliseconds since a fixed moment. */
  now(): number;
  /** Calls `expire` after that time, unless the returned function is called before. */
  limit(ms: number, expire: () => void): () => void;
  /** Waits between two attempts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

export const attemptClock: AttemptClock = {
  now: () => performance.now(),
  limit(ms, expire) {
    const timer = setTimeout(expire, ms).unref();
    return () => clearTimeout(timer);
  },
  async wait(ms, signal) {
    await sleep(ms, undefined, { signal });
  },
};
