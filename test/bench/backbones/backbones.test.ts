import { expect, test } from 'vitest';
import { compareWithGolden, othersOf } from './bench.js';
import { subjects } from './subjects.js';

/**
 * Whether the backbones other than onnx are tested, as in `.ci/run` and `.ci/nightly engines`. They take long:
 * PyTorch's worker takes a minute, and the test server opens a model for every step. verl.test.ts tests verl.
 */
const isLong = process.env['AJET_LONG_TESTS'] === '1';
const asked = subjects().filter(({ name }) => name === 'onnx' || (isLong && name !== 'verl'));
const skipped = subjects().filter(
  (subject) => 'skipped' in subject || !asked.some(({ name }) => name === subject.name),
);
if (skipped.length > 0)
  console.warn(`Not compared with the golden gradient: ${skipped.map(({ name }) => name).join(', ')}.`);

test.each(asked.flatMap((subject) => ('open' in subject ? [subject] : [])))(
  'the backbone $name computes the golden logprobs and the golden gradient',
  async (subject) => {
    const { logprobs_max_abs: gap, gradient_relative: distance } = await compareWithGolden(subject);
    expect(gap).toBeLessThan(1e-4);
    expect(distance).toBeLessThan(1e-4);
  },
);

test('a part that is measured alone joins those of the same commit and number of steps, and no others', () => {
  const onnx = { logprobs_max_abs: 1e-7, gradient_relative: 1e-7, lake_success_10_steps: 0.8 };
  const kept = { commit: 'abc', lake_steps: 10, onnx, lake_seconds_per_step: { onnx: 14 } };
  const join = (commit: string | null, steps = 10) => othersOf(JSON.stringify(kept), { commit, steps });
  expect(join('abc')).toEqual({ rows: { onnx }, seconds: { onnx: 14 } });
  for (const other of [join('abd'), join(null), join('abc', 9)]) expect(other).toEqual({ rows: {}, seconds: {} });
});
