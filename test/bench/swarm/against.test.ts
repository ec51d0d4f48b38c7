import { expect, it } from 'vitest';
import { compare, type Start } from './against.js';

const startOf = (own: number, other: number): Start => {
  const times = { own: { usual: own, mean: 3 * own }, other: { usual: other, mean: 2 * other } };
  return { claim: times, end: times, call: times };
};

it('gives the median ratio of the starts, and no noise if all starts agree', () => {
  const found = compare([startOf(1.1, 1), startOf(2.2, 2), startOf(3.3, 3)]);
  expect(found.end).toEqual({ ratio: 1.1, low: 1.1, high: 1.1, ratio_of_means: 1.65 });
  expect(found.claim).toEqual(found.call);
});

it('keeps its ratio if other work slows one start down, and has wider bounds', () => {
  const { ratio, low, high } = compare([1, 1.02, 0.98, 1.01, 3].map((ms) => startOf(ms, 1))).call;
  expect(ratio).toBe(1.01);
  expect(low).toBeGreaterThan(0.97);
  expect(high).toBe(3);
});

it('gives wide bounds if the starts differ', () => {
  const { ratio, low, high } = compare([1, 9, 2, 8, 3].map((ms) => startOf(ms, 3))).claim;
  expect(ratio).toBe(1);
  expect(low).toBeLessThan(0.9);
  expect(high).toBeGreaterThan(1.1);
});
