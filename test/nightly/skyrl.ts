import path from 'node:path';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import type { NightlyOutcome } from './nightly-job.js';
import { runLongTests } from './vitest-outcome.js';

/**
 * Tests SkyRL from PyPI, if it can be installed: the backbone's contract, its checkpoints, and ten steps of the frozen
 * lake.
 */
export async function run(): Promise<NightlyOutcome> {
  const problem = makeEnvironment(path.join(import.meta.dirname, 'skyrl'));
  if (problem !== undefined) return { passed: false, isSkipped: true, summary: problem, details: {} };
  return runLongTests(['test/nightly/skyrl']);
}
