/**
 * The clock of leases and other time limits. It stops while no client can be served: while the run is paused, recovers
 * or changes weights. It has no timer. It reads the time only if one of its methods is called. If the machine slept or
 * its clock jumped, it counts at most `maxStepMs` since the last reading.
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

  /** Returns the milliseconds during which the clock has run. */
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
