/**
 * Makes model calls wait while weights change or the run is paused. Calls that already run when the gate is closed
 * still finish, so no call uses two versions. The gate may be closed for several reasons at once. It opens when the
 * last of them is released.
 */
export class CallGate {
  readonly #holders = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  readonly #draining: (() => void)[] = [];
  readonly #now: () => number;
  #refusal: Error | undefined;
  #numInside = 0;
  #waitedMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long all calls together have waited. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /**
   * Waits until the gate is open. Call the resolved function when the call is over. Rejects while calls are refused.
   */
  async enter(): Promise<() => void> {
    const since = this.#now();
    for (;;) {
      if (this.#refusal !== undefined) throw this.#refusal;
      if (this.#holders.size === 0) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#waitedMs += this.#now() - since;
    this.#numInside++;
    return () => this.#leave();
  }

  /** Closes the gate, and resolves when no call is running. */
  async hold(reason: string): Promise<void> {
    this.#holders.add(reason);
    if (this.#numInside > 0) await new Promise<void>((resolve) => this.#draining.push(resolve));
  }

  release(reason: string): void {
    this.#holders.delete(reason);
    if (this.#holders.size > 0) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Refuses waiting and new calls. With undefined, calls wait again. */
  refuse(error: Error | undefined): void {
    this.#refusal = error;
    if (error !== undefined) for (const resume of this.#waiting.splice(0)) resume();
  }

  get isOpen(): boolean {
    return this.#holders.size === 0;
  }

  #leave(): void {
    this.#numInside--;
    if (this.#numInside > 0) return;
    for (const resume of this.#draining.splice(0)) resume();
  }
}
