import { meanOf, noiseIn, type FigureSeries } from './series.js';

/** The difference between two stretches of a series with its 95% interval. */
export type FigureChange = {
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
  series: FigureSeries,
  {
    from,
    to,
    noise = noiseIn(series),
  }: { readonly from: FigureSeries; readonly to: FigureSeries; readonly noise?: number | undefined },
): FigureChange | undefined {
  if (from.values.length === 0 || to.values.length === 0 || noise === undefined) return undefined;
  const [before, after] = [meanOf(from.values), meanOf(to.values)];
  const margin = z * noise * Math.sqrt(1 / from.values.length + 1 / to.values.length);
  const difference = after - before;
  return { before, after, difference, low: difference - margin, high: difference + margin };
}

export const rises = (change: FigureChange | undefined): boolean => change !== undefined && change.low > 0;
