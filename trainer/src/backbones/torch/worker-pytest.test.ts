import { spawnSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { hasTorch, testPython } from './testing-worker.js';
import { torchHome } from '../python-worker/find-python.js';

if (!hasTorch)
  console.warn(
    'Skipped the tests of the torch worker: trainer/torch/.venv does not exist. Run "npm run setup:torch" (it needs Python 3.10 or later).',
  );

/** These tests take minutes, so they are part of `.ci/run` and `.ci/nightly engines`, and not of every `npm test`. */
const isAsked = process.env['AJET_LONG_TESTS'] === '1';
if (hasTorch && !isAsked)
  console.warn(
    'Skipped the Python tests of the torch worker, because they take minutes. Set AJET_LONG_TESTS=1 to run them.',
  );

test.skipIf(!hasTorch || !isAsked)('the tests of the Python package pass', { timeout: 900_000 }, () => {
  const env = { ...process.env, OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };
  const done = spawnSync(testPython, ['-m', 'pytest', '-q', '--no-header', '-p', 'no:cacheprovider'], {
    cwd: torchHome.dir,
    encoding: 'utf8',
    env,
  });
  expect(done.status, `${done.stdout}\n${done.stderr}`.slice(-6000)).toBe(0);
});
