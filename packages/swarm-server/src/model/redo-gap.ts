type Metrics = Readonly<Record<string, unknown>>;

/**
 * If repeating a step does not give exactly the same weights, some tokens were sampled by weights that are gone. The
 * first step after such a redo reports the gap between sampler and trainer of the last step before it, next to its
 * own `logprob_gap_max`.
 */
export class RedoGap {
  #before: number | undefined;
  #hasRedone = false;

  /** Called before the weights of a checkpoint are loaded. `metrics` are those of the steps made so far. */
  noteLoad(metrics: readonly Metrics[]): void {
    const gap = metrics.at(-1)?.['logprob_gap_max'];
    this.#before = typeof gap === 'number' ? gap : undefined;
    this.#hasRedone = false;
  }

  /** The additional metrics of a step. `isRedo` is true if the step was made before. */
  noteStep(isRedo: boolean): Readonly<Record<string, number>> {
    const isFirst = !isRedo && this.#hasRedone;
    this.#hasRedone = isRedo;
    return isFirst && this.#before !== undefined ? { logprob_gap_before_redo: this.#before } : {};
  }
}
