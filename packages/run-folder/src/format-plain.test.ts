import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatPlain } from './line-chart.js';

it('formats numbers of few digits as toLocaleString does', () => {
  const isEqual = (value: number): boolean => {
    const short = Number(value.toPrecision(4));
    return formatPlain(short) === short.toLocaleString('en-US', { maximumFractionDigits: 6 });
  };
  fc.assert(fc.property(fc.double(), isEqual));
  fc.assert(fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), isEqual), { numRuns: 500 });
  fc.assert(fc.property(fc.double({ min: -0.01, max: 0.01, noNaN: true }), isEqual));
  for (const value of [0, -0, 1000, -1234.5, 999, 1e6, 0.001, -0.0012345, 5e-7, 1e21])
    expect(isEqual(value)).toBe(true);
});
