import { meanOf, noiseIn, type FigureSeries } from './series.js';

/** The slope of the least-squares line per step, with its 95% interval. */
export type Slope = { readonly slope: number; readonly low: number; readonly high: number };

/** Undefined for fewer than five points. */
export function fitSlope(series: FigureSeries, noise = noiseIn(series)): Slope | undefined {
  const { steps, values } = series;
  if (values.length < 5 || noise === undefined) return undefined;
  const [middle, level] = [meanOf(steps), meanOf(values)];
  const spread = steps.reduce((sum, step) => sum + (step - middle) ** 2, 0);
  if (spread === 0) return undefined;
  const product = steps.reduce((sum, step, at) => sum + (step - middle) * ((values[at] ?? level) - level), 0);
  const slope = product / spread;
  const margin = (1.96 * noise) / Math.sqrt(spread);
  return { slope, low: slope - margin, high: slope + margin };
}
