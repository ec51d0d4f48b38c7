import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { power } from './power.js';

it('is near the power that JavaScript computes', () => {
  for (const base of [0.3, 0.8, 0.9, 0.999, 1, 2, 10_000, 1e6])
    for (const exponent of [-3, -1, -63 / 64, -0.1, 0, 1e-9, 0.5, 1 / 3, 1, 2.75, 7, 40, 41]) {
      const expected = base ** exponent;
      expect(Math.abs(power(base, exponent) - expected) / expected).toBeLessThan((Math.abs(exponent) + 60) * 2 ** -52);
    }
});

it('is exact if the result has an exact value', () => {
  expect([power(2, -1022), power(2, 1023), power(10, 22), power(3, 33), power(4, 0.5), power(7, 0)]).toEqual([
    2 ** -1022,
    2 ** 1023,
    1e22,
    5_559_060_566_555_523,
    2,
    1,
  ]);
});

it('vanishes if a bias correction does', () => {
  expect(power(0.9, 1_000_000)).toBe(0);
  expect(1 - power(0.999, 1_000_000)).toBe(1);
});

it('has the same bits on every Node', () => {
  const exponents = Array.from({ length: 2000 }, (_, index) => index);
  const values = [
    ...exponents.map((step) => power(0.9, step)),
    ...exponents.map((step) => power(0.999, step)),
    ...exponents.map((index) => power(10_000, (-2 * index) / 4000)),
    ...exponents.map((index) => power(1e6, (-2 * index) / 4000)),
  ];
  const bits = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => bits.writeDoubleLE(value, 8 * index));
  expect(createHash('sha256').update(bits).digest('hex')).toMatchInlineSnapshot(
    `"2225313dcea64355044cf085487d2a33ec1e2ddc9bb914af373f12070d15304f"`,
  );
});
