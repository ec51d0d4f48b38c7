import type { AttemptClock } from '../attempt-clock.js';

/**
 * A clock that advances only while the client waits: between two attempts, and when `expire` ends requests that got no
 * answer.
 */
export class HangingClock implements AttemptClock {
  readonly #limits = new Set<{ readonly ms: number; expire(): void }>();
  #now = 0;

  now(): number {
    return this.#now;
  }

  limit(ms: number, expire: () => void): () => void {
    const limit = { ms, expire };
    this.#limits.add(limit);
    return () => this.#limits.delete(limit);
  }

  async wait(ms: number): Promise<void> {
    this.#now += ms;
    await new Promise(setImmediate);
  }

  /** Ends the requests in progress after that time. Defaults to the longest of their limits. */
  expire(afterMs = Math.max(0, ...[...this.#limits].map(({ ms }) => ms))): void {
    this.#now += afterMs;
    for (const { expire } of this.#limits) expire();
  }
}
