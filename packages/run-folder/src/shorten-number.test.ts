import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shortenNumber } from './shorten-number.js';

const formatted = (value: number): number => Number(value.toPrecision(7));

it('rounds to seven digits as a formatted number does', () => {
  const isEqual = (value: number): boolean => Object.is(shortenNumber(value), formatted(value));
  fc.assert(fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), isEqual), { numRuns: 2000 });
  fc.assert(fc.property(fc.float({ min: -30, max: 0, noNaN: true }), isEqual), { numRuns: 2000 });
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), isEqual), { numRuns: 2000 });
});

it('rounds numbers in the middle, and near powers of ten, as a formatted number does', () => {
  for (const value of [0, -0, 1, -1, 0.5, 9999999.5, 1000000.5, -0.12345675, 0.99999995, 1e-7, 1e22, 1e23, 5e-324])
    expect(shortenNumber(value)).toBe(formatted(value));
  for (let exponent = -20; exponent < 20; exponent++)
    for (const nearby of [1 - 2 ** -53, 1 - 2 ** -24, 1, 1 + 2 ** -52, 1 + 2 ** -23])
      expect(shortenNumber(nearby * 10 ** exponent)).toBe(formatted(nearby * 10 ** exponent));
  expect(shortenNumber(NaN)).toBeNaN();
  expect(shortenNumber(Infinity)).toBe(Infinity);
});
