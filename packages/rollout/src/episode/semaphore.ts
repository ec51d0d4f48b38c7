/** Admits at most `limit` holders at a time and serves waiters in the order of their arrival. */
export class Semaphore {
  #limit: number;
  /** Negative while more work runs than a lowered limit allows. */
  #free: number;
  readonly #waiters: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
    this.#free = limit;
  }

  /** Changes the limit. Work that runs already is not interrupted. */
  resize(limit: number): void {
    this.#free += limit - this.#limit;
    this.#limit = limit;
    this.#admit();
  }

  /**
   * Runs `work` as soon as fewer than `limit` holders run. When `work` calls `leave`, it stops counting as a holder.
   */
  async run<T>(work: (leave: () => void) => Promise<T>): Promise<T> {
    await this.#acquire();
    let isInside = true;
    const leave = (): void => {
      if (isInside) this.#release();
      isInside = false;
    };
    try {
      return await work(leave);
    } finally {
      leave();
    }
  }

  #acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #release(): void {
    this.#free++;
    this.#admit();
  }

  #admit(): void {
    while (this.#free > 0 && this.#waiters.length > 0) {
      this.#free--;
      this.#waiters.shift()?.();
    }
  }
}
