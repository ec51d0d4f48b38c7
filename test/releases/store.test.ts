import { expect, it } from 'vitest';
import { cells } from './cells.js';
import { median } from '../bench/bench.js';
import { readBaseline, toGateRun } from './store.js';

const kept = cells.flatMap((cell) => readBaseline(cell, 1).map(({ seeds }) => seeds));

it('a run that samples twice as many tokens in twice the time is as fast', () => {
  const [seed] = kept.flat();
  if (seed === undefined) throw new Error('no seed is kept');
  const longer = { ...seed, generated_tokens: 2 * seed.generated_tokens, speed: seed.speed / 2 };
  expect(toGateRun(longer).speed).toBeCloseTo(toGateRun(seed).speed ?? 0, 6);
});

it('tokens per processor time differ less between the kept seeds of a cell than runs per processor time', () => {
  const range = (values: readonly number[]): number => (Math.max(...values) - Math.min(...values)) / median(values);
  const rangeOf = (speedOf: (seed: (typeof kept)[number][number]) => number): number =>
    kept.reduce((sum, seeds) => sum + range(seeds.map(speedOf)), 0);
  expect(rangeOf((seed) => toGateRun(seed).speed ?? 0)).toBeLessThan(rangeOf(({ speed }) => speed));
});
