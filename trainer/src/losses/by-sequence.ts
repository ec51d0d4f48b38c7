import type { SlopeTerms } from '@agentjet/core';

/** Log ratios stop at 60: exp(60) exceeds every limit of a ratio, and its product with an advantage is still finite. */
export const maxLogRatio = 60;

/** Returns, shape [K], the sum or the mean of the values over the trained terms of each term's row. */
export function bySequence(
  { sequence, weights }: Pick<SlopeTerms, 'sequence' | 'weights'>,
  values: Float64Array,
  how: 'sum' | 'mean',
): Float64Array {
  const totals = new Map<number, { sum: number; count: number }>();
  values.forEach((value, k) => {
    if (weights[k] === 0) return;
    const row = sequence[k] ?? 0;
    const total = totals.get(row) ?? { sum: 0, count: 0 };
    totals.set(row, { sum: total.sum + value, count: total.count + 1 });
  });
  return values.map((_, k) => {
    const { sum, count } = totals.get(sequence[k] ?? 0) ?? { sum: 0, count: 1 };
    return how === 'sum' ? sum : sum / count;
  });
}
