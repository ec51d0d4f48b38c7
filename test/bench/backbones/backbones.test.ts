import { expect, test } from 'vitest';
import { compareWithGolden } from './bench.js';
import { subjects } from './subjects.js';

/** PyTorch's worker takes a minute, and the test server opens a model for every step: part of `.ci/run` and of `.ci/nightly engines`; verl.test.ts has verl. */
const isLong = process.env['AJET_LONG_TESTS'] === '1';
const asked = subjects().filter(({ name }) => name === 'onnx' || (isLong && name !== 'verl'));
const skipped = subjects().filter(
  (subject) => 'skipped' in subject || !asked.some(({ name }) => name === subject.name),
);
if (skipped.length > 0)
  console.warn(`Not compared with the golden gradient: ${skipped.map(({ name }) => name).join(', ')}.`);

test.each(asked.flatMap((subject) => ('open' in subject ? [subject] : [])))(
  'the backbone $name computes the golden logprobs and the golden gradient',
  { timeout: 240_000 },
  async (subject) => {
    const { logprobs_max_abs: gap, gradient_relative: distance } = await compareWithGolden(subject);
    expect(gap).toBeLessThan(1e-4);
    expect(distance).toBeLessThan(1e-4);
  },
);
