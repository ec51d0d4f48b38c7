// Runs vitest. Returns the test counts and the seconds of each file.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './workspaces.mjs';

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // vitest ended before it wrote the file
  }
}

function countsOf(report, status) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = report;
  const isBroken = (file) => file.status === 'failed' && file.assertionResults.length === 0;
  const failed = numFailedTests + testResults.filter(isBroken).length;
  return { passed: numPassedTests, failed: status !== 0 && failed === 0 ? 1 : failed, skipped: numPendingTests };
}

/** @param {string} file relative to the root @param {string} fullName the names of the suites and of the test */
export const nameOf = (file, fullName) => `${file} > ${fullName}`;

/** Returns the names of the tests that passed. */
function passedOf(report) {
  return (report?.testResults ?? []).flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed')
      .map(({ fullName }) => nameOf(path.relative(root, name), fullName)),
  );
}

export function runVitest(args, { bin = [], without = [] } = {}) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'agentjet-test-'));
  const [report, times] = ['vitest.json', 'times.json'].map((name) => path.join(scratch, name));
  const shown = process.stdout.isTTY ? 'dot' : path.join(root, '.ci/plain-reporter.mjs');
  const passed = path.join(scratch, 'passed.json');
  if (without.length > 0) writeFileSync(passed, JSON.stringify(without));
  const reporters = [shown, 'json', path.join(root, '.ci/time-reporter.mjs')].map((name) => `--reporter=${name}`);
  const { status } = spawnSync(
    bin.length === 0 ? process.execPath : path.join(bin[0], 'node'),
    [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, `--outputFile.json=${report}`, ...args],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        PATH: [...bin, process.env.PATH].join(path.delimiter),
        AJET_TEST_TIMES: times,
        ...(without.length === 0 ? {} : { AJET_PASSED_TESTS: passed }),
        ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
      },
    },
  );
  const found = readJson(report);
  const result = { ...countsOf(found, status), passedTests: passedOf(found), seconds: readJson(times) ?? {} };
  rmSync(scratch, { recursive: true, force: true });
  return result;
}
