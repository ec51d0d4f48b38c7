/**
 * `npm run test:newest` tests the adapters and the endpoint on the newest majors of their frameworks, under Node 24.
 * Its last line is `N passed, N failed`. `--install-only` stops after everything is installed. If the registry does not
 * answer, the command reports this and exits with 75, because nothing was tested.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fill, findTypeProblems, findVersionProblems, install } from './project.mjs';

const couldNotInstall = 75;

/** Runs the tests and returns counts. Everything is installed already. */
export function runNewest() {
  const { dir, node } = fill();
  const checks = [
    check("versions fit the adapters' peer ranges", findVersionProblems()),
    check('types', findTypeProblems()),
  ];
  const tests = runTests(dir, node);
  return {
    passed: tests.passed + checks.filter(Boolean).length,
    failed: tests.failed + checks.filter((ok) => !ok).length,
  };
}

function check(label, problems) {
  console.log([`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${label}`, ...problems].join('\n     '));
  return problems.length === 0;
}

function runTests(dir, node) {
  const report = path.join(dir, 'report.json');
  rmSync(report, { force: true });
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--testTimeout=180000',
    '--hookTimeout=180000',
    '--expect.poll.timeout=30000',
    '--maxWorkers=2',
    `--reporter=${process.stdout.isTTY ? 'dot' : 'default'}`,
    '--reporter=json',
    `--outputFile.json=${report}`,
  ];
  const env = process.stdout.isTTY ? process.env : { ...process.env, NO_COLOR: '1' };
  const { status } = spawnSync(node, args, { cwd: dir, stdio: 'inherit', env });
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const brokenFiles = testResults.filter(
      (file) => file.status === 'failed' && file.assertionResults.length === 0,
    ).length;
    return { passed: numPassedTests, failed: numFailedTests + brokenFiles || Number(status !== 0) };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    install();
  } catch (error) {
    console.log(`skipped: ${whyNot(error)}`);
    process.exit(couldNotInstall);
  }
  if (process.argv.includes('--install-only')) process.exit();
  const { passed, failed } = runNewest();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

function whyNot(error) {
  if (error.signal) return 'the registry was too slow';
  const lines = String(error.stderr || error.message)
    .split('\n')
    .map((line) => line.replace(/^npm error\s*/, '').trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('A complete log'))
    .slice(0, 3)
    .join('; ');
}
