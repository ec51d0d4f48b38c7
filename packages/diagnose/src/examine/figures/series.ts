/** A figure over the steps of a run, in ascending order of steps. `steps[i]` belongs to `values[i]`. */
export type FigureSeries = { readonly steps: readonly number[]; readonly values: readonly number[] };

export const emptySeries: FigureSeries = { steps: [], values: [] };

/** Builds a series from the lines that have a finite value. */
export function toSeries<Line>(
  lines: readonly Line[],
  stepOf: (line: Line) => number,
  valueOf: (line: Line) => number | undefined,
): FigureSeries {
  const points = lines.flatMap((line) => {
    const value = valueOf(line);
    return value !== undefined && Number.isFinite(value) ? [{ step: stepOf(line), value }] : [];
  });
  const sorted = points.toSorted((left, right) => left.step - right.step);
  return { steps: sorted.map(({ step }) => step), values: sorted.map(({ value }) => value) };
}

/** The points of a series between two shares of its length, 0 to 1. There is at least one point if the series has any. */
export function between({ steps, values }: FigureSeries, from: number, to: number): FigureSeries {
  const first = Math.min(Math.floor(from * values.length), Math.max(0, values.length - 1));
  const end = Math.max(first + 1, Math.ceil(to * values.length));
  return { steps: steps.slice(first, end), values: values.slice(first, end) };
}

/** The points of a series from a step on. */
export function since({ steps, values }: FigureSeries, step: number): FigureSeries {
  const first = steps.findIndex((each) => each >= step);
  return first === -1 ? emptySeries : { steps: steps.slice(first), values: values.slice(first) };
}

/** NaN for an empty list. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/** Turns a median of absolute normal deviations into their standard deviation. */
const deviationsPerMedian = 1.4826;
/** A point minus the mean of its two neighbours has this many times the variance of a point. */
const varianceOfBend = 1.5;

/**
 * The standard deviation of one point around a smooth curve. A point is compared with the mean of its neighbours, so
 * that neither a slope nor a level changes the result. The median keeps single outliers out. Undefined for fewer than
 * five points.
 */
export function noiseIn({ values }: FigureSeries): number | undefined {
  if (values.length < 5) return undefined;
  const bends = values.slice(1, -1).map((value, at) => value - ((values[at] ?? 0) + (values[at + 2] ?? 0)) / 2);
  const typical = median(bends.map(Math.abs)) * deviationsPerMedian;
  const overall = Math.sqrt(meanOf(bends.map((bend) => bend ** 2)));
  return (typical > 0 ? typical : overall) / Math.sqrt(varianceOfBend);
}
