import { setTimeout as sleep } from 'node:timers/promises';

/** Time as the client measures it; tests give another. */
export type AttemptClock = {
  /** In milliseconds, from any moment on. */
  now(): number;
  /** Calls `expire` after so long, unless what it returns is called before. */
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
