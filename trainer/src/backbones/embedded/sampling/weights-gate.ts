/**
 * Keeps completions and changes of the weights apart, in the order in which they were requested. A change waits for
 * earlier completions, and a completion waits for earlier changes. Each completion therefore uses one version of the
 * weights. Neither side waits forever, because completions end without help from a change.
 */

export class WeightsGate {
  readonly #completions = new Set<Promise<unknown>>();
  #changes: Promise<unknown> = Promise.resolve();

  /** Runs `work` concurrently with other completions, after all changes requested so far. */
  async sample<Result>(work: () => Promise<Result>): Promise<Result> {
    const completion = this.#changes.then(work);
    const settled = completion.catch(() => undefined).finally(() => this.#completions.delete(settled));
    this.#completions.add(settled);
    return await completion;
  }

  /** Runs `work` alone, after all changes and completions requested so far. */
  async change<Result>(work: () => Promise<Result>): Promise<Result> {
    const change = Promise.all([this.#changes, ...this.#completions]).then(work);
    this.#changes = change.catch(() => undefined);
    return await change;
  }
}
