import type { Host } from '@agentjet/ledger';

/** Tells those who wait that something changed, and numbers the changes. */
export class Changes {
  readonly #host: Host;
  #waiting: (() => void)[] = [];
  #number = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  get number(): number {
    return this.#number;
  }

  notify(): void {
    this.#number++;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  /** Resolves with the next change, or after so many milliseconds. */
  async next(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#host.after(timeoutMs, resolve);
      this.#waiting.push(() => {
        cancel();
        resolve();
      });
    });
  }
}
