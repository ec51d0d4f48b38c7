import { expect, it } from 'vitest';
import { compare, type Pair } from './against.js';

const sideOf = (ms: number): Pair['own'] => {
  const times = { usual: ms, mean: 2 * ms };
  return { claim: times, end: times, call: times };
};
const pairOf = (own: number, other: number): Pair => ({ own: sideOf(own), other: sideOf(other) });

it('gives the ratio of medians, and no noise if all rounds agree', () => {
  const found = compare([[pairOf(1.1, 1)], [pairOf(2.2, 2), pairOf(3.3, 3)]]);
  expect(found.end).toMatchObject({ ratio: 1.1, ratio_of_means: 1.1 });
  expect(compare([[pairOf(1.1, 1)]]).claim).toMatchObject({ ratio: 1.1, low: 1.1, high: 1.1 });
});

it('gives wide bounds if the rounds differ', () => {
  const { ratio, low, high } = compare([[1, 9, 2, 8, 3].map((ms) => pairOf(ms, 3))]).claim;
  expect(ratio).toBe(1);
  expect(low).toBeLessThan(0.9);
  expect(high).toBeGreaterThan(1.1);
});

it('gives wide bounds if the processes differ, although the rounds of each agree', () => {
  const roundsOf = (ms: number) => Array.from({ length: 30 }, () => pairOf(ms, 1));
  const { low, high } = compare([0.9, 1, 1.1].map(roundsOf)).call;
  expect([low, high]).toEqual([0.9, 1.1]);
});
