import { spawnSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { workerDir } from './find-python.js';
import { hasTorch, testPython } from './testing-worker.js';

if (!hasTorch)
  console.warn(
    'Skipped the tests of the torch worker: no trainer/torch/.venv. "npm run setup:torch" makes it (Python 3.10 or later).',
  );

test.skipIf(!hasTorch)('the tests of the Python package pass', { timeout: 900_000 }, () => {
  const env = { ...process.env, OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };
  const done = spawnSync(testPython, ['-m', 'pytest', '-q', '--no-header', '-p', 'no:cacheprovider'], {
    cwd: workerDir,
    encoding: 'utf8',
    env,
  });
  expect(done.status, `${done.stdout}\n${done.stderr}`.slice(-6000)).toBe(0);
});
