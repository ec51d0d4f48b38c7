import path from 'node:path';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import type { NightlyOutcome } from './nightly-job.js';
import { runLongTests } from './vitest-outcome.js';

/**
 * Checks that TensorBoard, wandb and swanlab from PyPI follow a run without a network, and that they can read the
 * records that they wrote. Phoenix from PyPI receives the episodes of a run as traces, if it can be installed here.
 */
export async function run(): Promise<NightlyOutcome> {
  const problem = makeEnvironment(path.join(import.meta.dirname, 'trackers'));
  if (problem !== undefined) return { passed: false, isSkipped: true, summary: problem, details: {} };
  const phoenix = makeEnvironment(path.join(import.meta.dirname, 'phoenix'));
  if (phoenix !== undefined) console.log(`Phoenix is skipped: ${phoenix}`);
  return runLongTests(['test/nightly/trackers', 'test/nightly/phoenix']);
}
