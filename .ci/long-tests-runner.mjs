// The vitest runner of the long tests. It skips what an earlier run has passed: AJET_PASSED_TESTS names a file with the
// names of these tests.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { TestRunner } from 'vitest';
import { nameOf } from './run-vitest.mjs';
import { root } from './workspaces.mjs';

/**
 * Skips the tests of a suite that have passed, and the suite if it has no others, so that its hooks are not called.
 * Returns whether the suite is left to run.
 */
export function skipPassed(suite, hasPassed, names = []) {
  const left = suite.tasks.map((task) => {
    const own = [...names, task.name];
    if (task.mode !== 'run' && task.mode !== 'queued') return false;
    if (task.type === 'suite') return skipPassed(task, hasPassed, own);
    if (!hasPassed(own.join(' '))) return true;
    Object.assign(task, { mode: 'skip', result: { state: 'skip' } });
    return false;
  });
  if (left.includes(true)) return true;
  suite.mode = 'skip';
  return false;
}

export default class LongTestsRunner extends TestRunner {
  #passed = new Set(JSON.parse(readFileSync(process.env.AJET_PASSED_TESTS, 'utf8')));

  onCollected(files) {
    for (const file of files)
      skipPassed(file, (fullName) => this.#passed.has(nameOf(path.relative(root, file.filepath), fullName)));
  }
}
