/** Keeps training steps of two passes whole: while one runs, other steps wait. If none runs, a step starts at once. */
export class StepQueue {
  #last: Promise<unknown> | null = null;

  async run<Result>(hasTwoPasses: boolean, step: () => Promise<Result>): Promise<Result> {
    if (this.#last === null && !hasTwoPasses) return await step();
    const result = (this.#last ?? Promise.resolve()).then(step);
    const settled = result.catch(() => undefined);
    this.#last = settled;
    try {
      return await result;
    } finally {
      if (this.#last === settled) this.#last = null;
    }
  }
}
