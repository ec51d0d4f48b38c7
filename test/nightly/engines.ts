import type { NightlyOutcome } from './nightly-job.js';
import { runInEnvironment } from './vitest-outcome.js';

/**
 * Runs the suites of the PyTorch worker, in Python and through its backbone, and its parity with the embedded backbone.
 */
export async function run(): Promise<NightlyOutcome> {
  return runInEnvironment('trainer/torch/setup.mjs', [
    'trainer/src/backbones/torch',
    'trainer/src/backbones/python-worker',
    'test/bench/parity',
    'test/bench/backbones',
    'test/after-training',
  ]);
}
