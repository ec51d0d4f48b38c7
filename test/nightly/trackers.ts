import path from 'node:path';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import type { NightlyOutcome } from './nightly-job.js';
import { runLongTests } from './vitest-outcome.js';

/**
 * Checks that TensorBoard, wandb and swanlab from PyPI follow a run without a network, and that they can read the
 * records that they wrote.
 */
export async function run(): Promise<NightlyOutcome> {
  const problem = makeEnvironment(path.join(import.meta.dirname, 'trackers'));
  if (problem !== undefined) return { passed: false, isSkipped: true, summary: problem, details: {} };
  return runLongTests(['test/nightly/trackers']);
}
