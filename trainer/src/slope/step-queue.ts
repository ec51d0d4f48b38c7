/**
 * Keeps other training steps from running between the two passes of a step. A step starts at once if no other step
 * runs, and otherwise waits.
 */
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
