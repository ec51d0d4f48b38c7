import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { runVitest } from '../../.ci/run-vitest.mjs';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';

/**
 * Runs a program that makes an environment, and then tests that need it. If a test is skipped, the job has not passed.
 */
export function runInEnvironment(setup: string, tests: readonly string[]): NightlyOutcome {
  const made = spawnSync(process.execPath, [path.join(root, setup)], { stdio: 'inherit' });
  if (made.status !== 0)
    return { passed: false, summary: `${setup} could not make the environment`, details: { ran: false } };
  return runLongTests(tests);
}

/** Runs tests, including the long ones that are skipped elsewhere. */
export function runLongTests(tests: readonly string[]): NightlyOutcome {
  process.env['AJET_LONG_TESTS'] = '1';
  const { seconds, ...counts } = runVitest(tests);
  return {
    passed: counts.failed === 0 && counts.skipped === 0 && counts.passed > 0,
    summary: `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
    details: { tests: counts, seconds },
  };
}
