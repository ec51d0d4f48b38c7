import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { expect, test } from 'vitest';

import { asksVerl, testPython } from './testing-driver.js';
import { verlHome } from '../python-worker/find-python.js';

test.skipIf(!asksVerl)('the tests of the driver in Python pass', { timeout: 900_000 }, () => {
  const packages = [verlHome.dir, path.join(verlHome.dir, '../torch')].join(path.delimiter);
  const done = spawnSync(testPython, ['-m', 'pytest', '-q', '--no-header', '-p', 'no:cacheprovider', 'tests'], {
    cwd: verlHome.dir,
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: packages, CUDA_VISIBLE_DEVICES: '' },
  });
  expect(done.status, `${done.stdout}\n${done.stderr}`.slice(-6000)).toBe(0);
});
