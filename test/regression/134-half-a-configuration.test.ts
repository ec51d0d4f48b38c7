import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { writeJob } from '../e2e/support/job-files.js';
import { onlyRun } from '../e2e/support/read-run.js';
import { runAjet } from '../e2e/support/run-ajet.js';

/** A disk that filled up while a run began left half of its config.yaml, and --resume could not read that run. */

const hook = path.resolve(import.meta.dirname, '../chaos/fail-writes.mjs');

it.each([
  ['a full disk', { kind: 'full', afterBytes: 300 }, /Cannot write .*the disk is full/],
  ['a kill', { kind: 'kill', match: 'config\\.yaml', occurrence: 1, part: 0.5 }, /^/],
])('%s leaves config.yaml whole or not at all', async (_name, mishap, says) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'half-'));
  writeJob(folder, 'nano', {}, { trainer_common: { total_training_steps: 1 } });
  const plan = { folder: path.join(folder, 'saved_experiments'), ...mishap };
  const { code, stderr } = await runAjet(folder, ['--conf', 'job.yaml'], {
    env: { CHAOS_WRITES: JSON.stringify(plan) },
    nodeArgs: ['--import', hook],
  });
  expect(code).not.toBe(0);
  expect(stderr).toMatch(says);
  const config = path.join(onlyRun(folder), 'config.yaml');
  if (existsSync(config)) expect(readFileSync(config, 'utf8')).toMatch(/total_training_steps: 1/);
  const resumed = await runAjet(folder, ['--conf', 'job.yaml', '--resume']);
  expect(resumed.stderr).toMatch(/^error: --resume: there is no run in /);
});
