/**
 * The clock of leases and patiences. It stands still while nobody could be served: while the run is paused, recovering
 * or changing weights. It reads its time only when asked, so a machine that slept, or a clock that jumped, counts as at
 * most `maxStepMs` since the last look.
 */
export class LeaseClock {
  readonly #now: () => number;
  readonly #maxStepMs: number;
  #elapsedMs = 0;
  #seenMs: number;
  #isRunning = true;

  constructor(now: () => number, { maxStepMs = Infinity }: { readonly maxStepMs?: number } = {}) {
    this.#now = now;
    this.#maxStepMs = maxStepMs;
    this.#seenMs = now();
  }

  /** Milliseconds for which the clock has run. */
  read(): number {
    const now = this.#now();
    const stepMs = Math.min(Math.max(0, now - this.#seenMs), this.#maxStepMs);
    this.#seenMs = now;
    if (this.#isRunning) this.#elapsedMs += stepMs;
    return this.#elapsedMs;
  }

  stop(): void {
    this.read();
    this.#isRunning = false;
  }

  start(): void {
    this.read();
    this.#isRunning = true;
  }
}
