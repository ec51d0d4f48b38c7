// `npm test`: the checks, then every test; closes with one plain line, `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checks, runCheck } from './check.mjs';

const root = path.dirname(import.meta.dirname);
const scratch = mkdtempSync(path.join(tmpdir(), 'agentjet-test-'));
const report = path.join(scratch, 'vitest.json');

function runVitest() {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  try {
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const brokenFiles = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
    const failed = numFailedTests + brokenFiles;
    return { passed: numPassedTests, failed: status !== 0 && failed === 0 ? 1 : failed, skipped: numPendingTests };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

// The arrows are a vitest file too: counted there.
const results = checks.filter(([label]) => label !== 'arrows').map(runCheck);
const tests = runVitest();
rmSync(scratch, { recursive: true, force: true });
const passed = results.filter(Boolean).length + tests.passed;
const failed = results.filter((ok) => !ok).length + tests.failed;
if (tests.skipped > 0) console.log(`${tests.skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
