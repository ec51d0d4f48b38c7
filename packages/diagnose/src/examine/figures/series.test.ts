import { createRandom } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { changeBetween, rises } from './change.js';
import { fitSlope } from './line.js';
import { between, median, noiseIn, type FigureSeries } from './series.js';

/** Normal noise of deviation 1 around a curve. */
function draw(count: number, seed: number, curve: (at: number) => number = () => 0): FigureSeries {
  const { next } = createRandom(seed);
  const normal = (): number => Array.from({ length: 12 }, next).reduce((sum, value) => sum + value, -6);
  const steps = Array.from({ length: count }, (_, at) => at);
  return { steps, values: steps.map((step) => curve(step) + normal()) };
}

describe('the noise of a series', () => {
  it('is that of a point and does not depend on the slope', () => {
    const slopes = [0, 3, -5].map((slope) => noiseIn(draw(400, 1, (at) => slope * at)) ?? 0);
    for (const noise of slopes) expect(noise).toBeCloseTo(slopes[0] ?? 0, 8);
    expect(slopes[0]).toBeGreaterThan(0.85);
    expect(slopes[0]).toBeLessThan(1.15);
  });

  it('does not see single outliers, and needs five points', () => {
    const clean = draw(400, 2);
    const spoiled = { ...clean, values: clean.values.map((value, at) => (at % 100 === 50 ? 1e6 : value)) };
    expect(noiseIn(spoiled)).toBeLessThan(1.2);
    expect(noiseIn(draw(4, 1))).toBeUndefined();
  });
});

describe('the change between two stretches', () => {
  it('rises by chance in few of many series without a trend', () => {
    const alarms = Array.from({ length: 400 }, (_, seed) => draw(60, seed + 10)).filter((series) =>
      rises(changeBetween(series, { from: between(series, 0, 0.25), to: between(series, 0.75, 1) })),
    );
    expect(alarms.length).toBeLessThan(24); // 2.5%, and the uncertainty of the noise
  });

  it('is seen if it is twice the noise', () => {
    const series = draw(60, 5, (at) => at / 30);
    expect(rises(changeBetween(series, { from: between(series, 0, 0.25), to: between(series, 0.75, 1) }))).toBe(true);
  });
});

it('the interval of a slope contains the true one nearly always', () => {
  const contained = Array.from({ length: 400 }, (_, seed) => fitSlope(draw(50, seed + 500, (at) => 0.1 * at))).filter(
    (line) => line !== undefined && line.low <= 0.1 && line.high >= 0.1,
  );
  expect(contained.length).toBeGreaterThan(360);
});

it('a stretch has at least one point', () => {
  const series = draw(3, 1);
  expect(between(series, 0, 0.1).steps).toEqual([0]);
  expect(between(series, 0.9, 1).steps).toEqual([2]);
  expect(median([3, 1, 2, 10])).toBe(2.5);
});
