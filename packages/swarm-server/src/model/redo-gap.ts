import type { MetricValues } from '@agentjet/core';

type Metrics = Readonly<Record<string, unknown>>;

/**
 * Watches repeated steps. If a repeated step does not give exactly the same weights, some tokens were sampled by
 * weights that no longer exist. The first new step therefore reports its own `logprob_gap_max` and also that of the
 * last step before the repetition.
 */
export class RedoGap {
  #before: number | undefined;
  #hasRedone = false;

  /** Called before the weights of a checkpoint are loaded. `metrics` has the metrics of all steps so far. */
  noteLoad(metrics: readonly Metrics[]): void {
    const gap = metrics.at(-1)?.['logprob_gap_max'];
    this.#before = typeof gap === 'number' ? gap : undefined;
    this.#hasRedone = false;
  }

  /** Returns additional metrics for a step. `isRedo` is true if the step is a repeated one. */
  noteStep(isRedo: boolean): MetricValues {
    const isFirst = !isRedo && this.#hasRedone;
    this.#hasRedone = isRedo;
    return isFirst && this.#before !== undefined ? { logprob_gap_before_redo: this.#before } : {};
  }
}
