/**
 * Keeps sampling and changes of the weights apart, first come, first served: a change waits for the completions asked
 * for before it, a completion for the changes asked for before it. So each completion comes from one version of the
 * weights, neither side is put off for ever, and nothing waits in a circle: completions end by themselves.
 */

export class WeightsGate {
  readonly #completions = new Set<Promise<unknown>>();
  #changes: Promise<unknown> = Promise.resolve();

  /** Runs `work` among other completions, after the changes asked for so far. */
  async sample<Result>(work: () => Promise<Result>): Promise<Result> {
    const completion = this.#changes.then(work);
    const settled = completion.catch(() => undefined).finally(() => this.#completions.delete(settled));
    this.#completions.add(settled);
    return await completion;
  }

  /** Runs `work` alone, after the changes and completions asked for so far. */
  async change<Result>(work: () => Promise<Result>): Promise<Result> {
    const change = Promise.all([this.#changes, ...this.#completions]).then(work);
    this.#changes = change.catch(() => undefined);
    return await change;
  }
}
