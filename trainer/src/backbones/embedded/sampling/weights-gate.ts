/**
 * Separates sampling from changes of the weights, first come, first served. A change waits for earlier completions, and
 * a completion waits for earlier changes. Each completion therefore comes from one version of the weights, and neither
 * side waits for ever. There is no deadlock, because completions end by themselves.
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
