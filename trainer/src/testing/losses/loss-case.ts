import type { SlopeTerms } from '@agentjet/core';
import type { PolicyOptions } from '../../losses/policy-slope.js';

/**
 * A loss, and its formula in a publication as the reference. Each file of the folder `cases` exports one case. The
 * tests and `npm run bench -- losses` compare the embedded backbone with every case.
 */
export type LossCase = {
  readonly name: string;
  /** The publication, and the place of the formula in it. */
  readonly source: string;
  readonly loss: PolicyOptions;
  /**
   * Returns the loss of term k as the source writes it. `l` are the logprobs of all terms. `fixed` are the values that
   * the source holds constant: `fixed.logprobs` equals `l`, but has no gradient.
   */
  readonly reference: (k: number, l: Float64Array, fixed: FixedTerms) => number;
};

export type FixedTerms = SlopeTerms & { readonly proximal: Float64Array };

/** Returns the derivative of the weighted reference by each logprob, over the term's weight, by central differences. */
export function referenceSlopes({ reference }: Pick<LossCase, 'reference'>, fixed: FixedTerms): Float64Array {
  const step = 1e-6;
  const total = (l: Float64Array): number => fixed.weights.reduce((sum, w, k) => sum + w * reference(k, l, fixed), 0);
  return fixed.logprobs.map((logprob, k) => {
    const moved = (by: number) => total(fixed.logprobs.with(k, logprob + by));
    return (moved(step) - moved(-step)) / (2 * step) / (fixed.weights[k] ?? 1);
  });
}

/** Lists the terms of the same row as term k. */
export function rowOf(k: number, { sequence }: Pick<SlopeTerms, 'sequence'>): readonly number[] {
  return [...sequence.keys()].filter((other) => sequence[other] === sequence[k]);
}
