/** Admits at most `limit` holders at a time and serves waiters in the order of their arrival. */
export class Semaphore {
  #free: number;
  readonly #waiters: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
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
    const next = this.#waiters.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
