import type { NightlyOutcome } from './nightly-job.js';
import { runInEnvironment } from './vitest-outcome.js';

/**
 * Tests verl's workers on a Ray of this machine's CPU: the contracts, the golden gradient, ten steps of the frozen
 * lake, and failures.
 */
export async function run(): Promise<NightlyOutcome> {
  return runInEnvironment('trainer/verl/setup.mjs', [
    'trainer/src/backbones/verl',
    'test/bench/backbones/verl.test.ts',
    '--maxWorkers=1', // each file starts a Ray, which gives its own processes 30 s to start
  ]);
}
