import { expect, it } from 'vitest';
import { compare, type Pair } from './against.js';
import type { Round } from './over-echo.js';

const roundOf = (ms: number): Round => {
  const over = { claim: ms, end: 2 * ms, call: 0 };
  return { ...over, echo: { claim: 1, end: 1, call: 1 }, swarmCall: 5 * ms, ordinaryCall: 5 * ms, echoP99Ms: 1 };
};

it('gives the ratio of medians, and no noise if all rounds agree', () => {
  const pairs: readonly Pair[] = [1, 2, 3].map((load) => ({ own: roundOf(1.1 * load), other: roundOf(load) }));
  const same = pairs.slice(0, 1);
  expect(compare(same)).toMatchObject({ claim: { ratio: 1.1, low: 1.1, high: 1.1 }, call: { ratio: 1.1 } });
  expect(compare(pairs).end.ratio).toBe(1.1);
});

it('gives wide bounds if the rounds differ', () => {
  const pairs: readonly Pair[] = [1, 9, 2, 8, 3].map((ms) => ({ own: roundOf(ms), other: roundOf(3) }));
  const { ratio, low, high } = compare(pairs).claim;
  expect(ratio).toBe(1);
  expect(low).toBeLessThan(0.9);
  expect(high).toBeGreaterThan(1.1);
});
