import { expect, it } from 'vitest';
import { cells } from './cells.js';
import { median } from '../bench/bench.js';
import { describeMachine, isSameProcessor } from '../bench/describe-machine.js';
import { readBaseline, toGateRun } from './store.js';

const kept = cells.flatMap((cell) => readBaseline(cell, 1).map(({ seeds }) => seeds));

it('a run that samples twice as many tokens in twice the time is as fast', () => {
  const [seed] = kept.flat();
  if (seed === undefined) throw new Error('no seed is kept');
  const longer = { ...seed, generated_tokens: 2 * seed.generated_tokens, speed: seed.speed / 2 };
  expect(toGateRun(longer, true).speed).toBeCloseTo(toGateRun(seed, true).speed ?? 0, 6);
});

it('tokens per processor time differ less between the kept seeds of a cell than runs per processor time', () => {
  const range = (values: readonly number[]): number => (Math.max(...values) - Math.min(...values)) / median(values);
  const rangeOf = (speedOf: (seed: (typeof kept)[number][number]) => number): number =>
    kept.reduce((sum, seeds) => sum + range(seeds.map(speedOf)), 0);
  expect(rangeOf((seed) => toGateRun(seed, true).speed ?? 0)).toBeLessThan(rangeOf(({ speed }) => speed));
});

it('leaves the speed of a run out if it was measured on another processor', () => {
  expect(kept.flat().map((seed) => toGateRun(seed, false).speed)).toEqual(kept.flat().map(() => null));
  const machine = { cpu: 'AMD EPYC', vectors: ['avx2', 'avx512f'], cores: 2 };
  expect(isSameProcessor(machine, { ...machine, cores: 4 })).toBe(true);
  expect(isSameProcessor(machine, { ...machine, vectors: ['avx2'] })).toBe(false);
  expect(isSameProcessor(machine, { cpu: 'AMD EPYC', cores: 2 })).toBe(false);
  expect(isSameProcessor(describeMachine(), describeMachine())).toBe(true);
});
