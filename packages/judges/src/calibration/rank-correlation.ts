import { mean } from '@agentjet/core';
/**
 * Spearman's rank correlation: Pearson's correlation of the ranks, in which equal values share the mean of their ranks
 * (Spearman, 1904). Null if either side is constant.
 */
export function rankCorrelation(left: readonly number[], right: readonly number[]): number | null {
  const [a, b] = [ranksOf(left), ranksOf(right)];
  const [meanA, meanB] = [mean(a), mean(b)];
  const sum = (term: (at: number) => number): number => a.reduce((total, _, at) => total + term(at), 0);
  const covariance = sum((at) => ((a[at] ?? 0) - meanA) * ((b[at] ?? 0) - meanB));
  const spread = Math.sqrt(sum((at) => ((a[at] ?? 0) - meanA) ** 2) * sum((at) => ((b[at] ?? 0) - meanB) ** 2));
  return spread === 0 ? null : covariance / spread;
}

function ranksOf(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
}
