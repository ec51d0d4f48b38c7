import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runAjet } from '../../e2e/support/run-ajet.js';
import { compareWithGolden, learnLake } from './bench.js';
import { subjects } from './subjects.js';

/** This test takes minutes, so it is part of `.ci/nightly verl`. */
const verl = subjects().find(({ name }) => name === 'verl');
const opened = verl !== undefined && 'open' in verl && process.env['AJET_LONG_TESTS'] === '1' ? verl : undefined;

/** Makes ten steps of `ajet sft` over the transcripts of a tutorial, and returns the loss of held-out ones. */
async function imitate(backbone: 'verl' | 'onnx'): Promise<number> {
  const experiments = await mkdtemp(path.join(tmpdir(), 'imitate-'));
  try {
    const settings = ['sft.epochs=1', 'sft.batch_size=32', `experiment_dir=${experiments}`];
    const flags = ['sft', '--conf', 'large_to_small.yaml', `--backbone=${backbone}`, '--json'];
    const { code, stdout, stderr } = await runAjet(tutorial, [...flags, ...settings], { timeoutMs: 600_000 });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return (JSON.parse(stdout) as { readonly loss_after: number }).loss_after;
  } finally {
    await rm(experiments, { recursive: true, force: true });
  }
}

const tutorial = path.resolve(import.meta.dirname, '../../../tutorial/large-to-small');

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

  test('learns to answer as transcripts do, as the embedded engine does', { timeout: 900_000 }, async () => {
    const [verlLoss, onnxLoss] = [await imitate('verl'), await imitate('onnx')];
    expect(onnxLoss).toBeLessThan(5); // it begins above 10
    expect(Math.abs(verlLoss - onnxLoss) / onnxLoss).toBeLessThan(2e-3); // the two engines have made ten steps
  });
});
