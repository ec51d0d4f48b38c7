// `npm test`: the checks, then every test; closes with one plain line, `N passed, N failed`. With `--with-newest` there is a second
// job, test/newest, whose downloads run beside the first; the closing line counts both.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checks, runCheck } from './check.mjs';
import { runNewest } from '../test/newest/run.mjs';

const root = path.dirname(import.meta.dirname);
const scratch = mkdtempSync(path.join(tmpdir(), 'agentjet-test-'));
const report = path.join(scratch, 'vitest.json');
const withNewest = process.argv.includes('--with-newest');
const vitestArgs = process.argv.slice(2).filter((argument) => argument !== '--with-newest');

function runVitest() {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`, ...vitestArgs];
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

/** Resolves with undefined, or with the reason why there is nothing to run. */
function startDownloads() {
  const child = spawn(process.execPath, [path.join(root, 'test/newest/run.mjs'), '--install-only'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve(code === 0 ? undefined : said.trim() || `ended with ${code}`)));
}

async function runSecondJob(downloads) {
  const problem = await downloads;
  console.log(`newest majors of the frameworks, Node 24${problem === undefined ? '' : `, ${problem}`}`);
  return problem === undefined ? runNewest() : { passed: 0, failed: 0 };
}

const downloads = withNewest ? startDownloads() : undefined;
// The arrows are a vitest file too: counted there.
const results = checks.filter(([label]) => label !== 'arrows').map(runCheck);
const tests = runVitest();
rmSync(scratch, { recursive: true, force: true });
const newest = downloads === undefined ? { passed: 0, failed: 0 } : await runSecondJob(downloads);
const passed = results.filter(Boolean).length + tests.passed + newest.passed;
const failed = results.filter((ok) => !ok).length + tests.failed + newest.failed;
if (tests.skipped > 0) console.log(`${tests.skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
