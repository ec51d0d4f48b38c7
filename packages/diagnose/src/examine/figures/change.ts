import { mean, noiseOf, type Series } from './series.js';

/** The difference between two stretches of a series with its 95% interval. */
export type Change = {
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  readonly low: number;
  readonly high: number;
};

/** The quantile of the normal distribution that leaves 2.5% on each side. */
const z = 1.96;

/**
 * Compares the means of two stretches. `noise` is the standard deviation of one point; by default it is measured on the
 * whole series. Undefined if a stretch is empty or the noise is unknown.
 */
export function changeBetween(
  series: Series,
  {
    from,
    to,
    noise = noiseOf(series),
  }: { readonly from: Series; readonly to: Series; readonly noise?: number | undefined },
): Change | undefined {
  if (from.values.length === 0 || to.values.length === 0 || noise === undefined) return undefined;
  const [before, after] = [mean(from.values), mean(to.values)];
  const margin = z * noise * Math.sqrt(1 / from.values.length + 1 / to.values.length);
  const difference = after - before;
  return { before, after, difference, low: difference - margin, high: difference + margin };
}

export const rises = (change: Change | undefined): boolean => change !== undefined && change.low > 0;
