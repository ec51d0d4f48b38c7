/**
 * Keeps completions and training steps apart. A step waits for the completions in progress, and later completions wait
 * for the step.
 */
export class Turns {
  #numSampling = 0;
  #step: Promise<void> | undefined;
  #hearIdle: (() => void) | undefined;

  async sample<Result>(run: () => Promise<Result>): Promise<Result> {
    while (this.#step !== undefined) await this.#step;
    this.#numSampling += 1;
    try {
      return await run();
    } finally {
      this.#numSampling -= 1;
      if (this.#numSampling === 0) this.#hearIdle?.();
    }
  }

  async train<Result>(run: () => Promise<Result>): Promise<Result> {
    while (this.#step !== undefined) await this.#step;
    let end: () => void = () => undefined;
    this.#step = new Promise((resolve) => (end = resolve));
    try {
      if (this.#numSampling > 0) await new Promise<void>((resolve) => (this.#hearIdle = resolve));
      return await run();
    } finally {
      this.#step = undefined;
      end();
    }
  }
}
