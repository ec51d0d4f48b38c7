import { describe, expect, test } from 'vitest';
import { compareWithGolden, learnLake } from './bench.js';
import { subjects } from './subjects.js';

/** Minutes: part of `.ci/nightly verl`. */
const verl = subjects().find(({ name }) => name === 'verl');
const opened = verl !== undefined && 'open' in verl && process.env['AJET_LONG_TESTS'] === '1' ? verl : undefined;

describe.skipIf(opened === undefined)('verl in one process on the CPU', () => {
  const get = () => opened ?? expect.unreachable();

  test('computes the golden logprobs and the golden gradient', { timeout: 900_000 }, async () => {
    const { logprobs_max_abs: gap, gradient_relative: distance } = await compareWithGolden(get());
    expect(gap).toBeLessThan(1e-4);
    expect(distance).toBeLessThan(1e-4);
  });

  test('learns the frozen lake in ten steps', { timeout: 3_600_000 }, async () => {
    const { successAfter } = await learnLake(get(), 10);
    expect(successAfter).toBeGreaterThan(0.5);
  });
});
