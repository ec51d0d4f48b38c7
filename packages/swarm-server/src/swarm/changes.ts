import { StoreError, type Host } from '@agentjet/ledger';

/** Notifies waiting callers of changes, and numbers the changes. */
export class Changes {
  readonly #host: Host;
  #waiting: (() => void)[] = [];
  #number = 0;
  #isClosed = false;

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

  /** Notifies all waiting callers for the last time, because nothing changes any more. */
  close(): void {
    this.#isClosed = true;
    this.notify();
  }

  /** Resolves with the next change, or after `timeoutMs`. Throws StoreError `closed` if no change will come. */
  async next(timeoutMs: number): Promise<void> {
    await this.#wait(timeoutMs);
    if (this.#isClosed) throw new StoreError('closed', 'The server is closing.');
  }

  async #wait(timeoutMs: number): Promise<void> {
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#host.after(timeoutMs, resolve);
      this.#waiting.push(() => {
        cancel();
        resolve();
      });
    });
  }
}
