// `npm test`: the checks, then every test; closes with one plain line, `N passed, N failed`. With `--all-jobs` there are two more jobs,
// whose downloads run beside the first: clients in Python, and test/newest. The closing line counts all.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checks, runCheck } from './check.mjs';
import { runNewest } from '../test/newest/run.mjs';

const root = path.dirname(import.meta.dirname);
const scratch = mkdtempSync(path.join(tmpdir(), 'agentjet-test-'));
const isEverything = process.argv.includes('--all-jobs');
const vitestArgs = process.argv.slice(2).filter((argument) => argument !== '--all-jobs');

function runVitest(paths) {
  const report = path.join(scratch, 'vitest.json');
  rmSync(report, { force: true });
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`, ...paths];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  try {
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const brokenFiles = testResults.filter(
      (file) => file.status === 'failed' && file.assertionResults.length === 0,
    ).length;
    const failed = numFailedTests + brokenFiles;
    return { passed: numPassedTests, failed: status !== 0 && failed === 0 ? 1 : failed, skipped: numPendingTests };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Runs a program that prints one line where it cannot do its work; resolves with that line, or undefined. */
function start(file, ...flags) {
  const child = spawn(process.execPath, [path.join(root, file), ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  return new Promise((resolve) =>
    child.once('close', (code) =>
      resolve(code === 0 ? undefined : said.trim().split('\n').at(-1) || `ended with ${code}`),
    ),
  );
}

function startDownloads() {
  const hadClients = existsSync(path.join(root, 'test/endpoint/python/.venv/installed.txt'));
  return {
    clients: hadClients ? Promise.resolve('ran already') : start('test/endpoint/python/setup.mjs'),
    newest: start('test/newest/run.mjs', '--install-only'),
  };
}

const nothing = { passed: 0, failed: 0, skipped: 0 };

async function runLater(label, ready, run) {
  const problem = await ready;
  console.log(`${label}${problem === undefined ? '' : `: ${problem}`}`);
  return problem === undefined ? run() : nothing;
}

const downloads = isEverything ? startDownloads() : undefined;
// The boundaries are vitest files too: counted there.
const results = checks.filter(([label]) => label !== 'boundaries').map(runCheck);
const counts = [
  { passed: results.filter(Boolean).length, failed: results.filter((ok) => !ok).length, skipped: 0 },
  runVitest(vitestArgs),
];
if (downloads !== undefined) {
  counts.push(
    await runLater('clients in Python', downloads.clients, () =>
      runVitest(['test/endpoint/python-clients.test.ts', 'tutorial/04-any-language']),
    ),
  );
  counts.push(await runLater('newest majors of the frameworks, Node 24', downloads.newest, runNewest));
}
rmSync(scratch, { recursive: true, force: true });
const sum = (name) => counts.reduce((total, count) => total + (count[name] ?? 0), 0);
if (sum('skipped') > 0) console.log(`${sum('skipped')} skipped`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(sum('failed') === 0 && sum('passed') > 0 ? 0 : 1);
