// `npm test` runs the checks, then every test. The last line is plain: `N passed, N failed`. With `--all-jobs`
// (`.ci/run`) it also runs clients in Python, test/newest and the gate of the cheapest tutorial, and downloads their
// packages while other tests run. The last line counts all jobs, and each exceeded time budget counts as a failure.
// With `--portable` it runs only the tests that work on every platform.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { checks, runChecks } from './check.mjs';
import { measureSpeed } from './machine-speed.mjs';
import { installNode, nodes } from './nodes.mjs';
import { runCheapestGate } from './run-gate.mjs';
import { runVitest } from './run-vitest.mjs';
import {
  exceededBudgets,
  formatParts,
  minutesByPart,
  processorSeconds,
  shareOfOthers,
  slowestFiles,
  slownessOf,
} from './time-budget.mjs';
import { budgets, shares, workers } from './time-shares.mjs';
import { root, withAllTheyUse, workspaces } from './workspaces.mjs';
import { runNewest } from '../test/newest/run.mjs';

/** The tests that run on every platform: those of the client, the adapters and the embedded backbone. */
const portablePaths = [
  ...withAllTheyUse(
    workspaces()
      .filter(({ dir, name }) => dir.startsWith('adapters/') || name === '@agentjet/swarm-client')
      .map(({ name }) => name),
  ).map(({ dir }) => `${dir}/`),
  'test/adapters/',
  'trainer/src/backbones/embedded/',
  'tutorial/frozen-lake/',
];

const startedAt = performance.now();
const processorsBefore = processorSeconds();
const speeds = [await measureSpeed()];
const isEverything = process.argv.includes('--all-jobs');
const isPortable = process.argv.includes('--portable');
const vitestArgs = [
  ...process.argv.slice(2).filter((argument) => argument !== '--all-jobs' && argument !== '--portable'),
  ...(isPortable ? portablePaths : []),
];
const minutes = () => (performance.now() - startedAt) / 60_000;

/** Runs a program that prints one line if it cannot do its work. Resolves with that line, or undefined. */
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
    site: start('docs/site/install.mjs'),
  };
}

/** Returns the test files outside of the nightly jobs that read AJET_LONG_TESTS, directly or through an import. */
function filesWithLongTests() {
  const { stdout } = spawnSync('git', ['grep', '-lE', 'AJET_LONG_TESTS|asksVerl|longIt', '--', '*.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((file) => file !== '' && !file.startsWith('test/nightly/'));
}

const nothing = { passed: 0, failed: 0, skipped: 0 };

async function runLater(label, ready, run) {
  const problem = await ready;
  console.log(`${label}${problem === undefined ? '' : `: ${problem}`}`);
  return problem === undefined ? run() : nothing;
}

/**
 * Prints how long the tests took, in minutes on the machine of the budgets. Returns the number of exceeded budgets, which
 * is 0 if other work kept the machine busy.
 */
async function judgeTime({ seconds }, testMinutes) {
  const [all, others] = [minutes(), shareOfOthers(processorsBefore, processorSeconds(), minutes() * 60)];
  const slowness = slownessOf([...speeds, await measureSpeed()]);
  const parts = minutesByPart(seconds, shares, workers, slowness);
  const took = { test: testMinutes / slowness, ci: isEverything ? all / slowness : undefined };
  const over = exceededBudgets(parts, took, budgets);
  console.log(`slowest files\n${slowestFiles(seconds, 8)}\ntime\n${formatParts(parts)}`);
  console.log(`  ${'npm test'.padEnd(11)}${took.test.toFixed(2).padStart(6)} of ${budgets.test} min`);
  if (slowness > 1)
    console.log(
      `These are minutes on the machine of the budgets. Here npm test took ${testMinutes.toFixed(1)}, because this machine has ${(100 / slowness).toFixed(0)}% of that speed.`,
    );
  if (over.length === 0) return 0;
  console.log(`over budget: ${over.join(', ')}`);
  if (others <= 0.15) return over.length;
  console.log(`not counted: other work had ${Math.round(100 * others)}% of the processors`);
  return 0;
}

/**
 * The tests that also run on other Nodes. They take a few minutes and depend on Node most: on loading users' modules,
 * arithmetic, streams, processes and printed output.
 */
const fastHalf = [
  ...['core', 'rollout', 'endpoint', 'tokenizer', 'context-tracker', 'run-folder', 'sandbox'].map(
    (name) => `packages/${name}/`,
  ),
  'adapters/',
  'trainer/src/loop/',
  'trainer/src/backbones/embedded/',
  'test/house/',
  'test/e2e/bad-input.test.ts',
];

/** Runs the long tests. `npm test` skips them, so they do not count in its ten minutes. */
function runLongTests({ passedTests }) {
  console.log('long tests');
  process.env.AJET_LONG_TESTS = '1';
  return runVitest(filesWithLongTests(), { without: passedTests });
}

/** Runs the fast half on the oldest and the newest Node. It skips the Node that has already run all tests. */
function runOtherNodes() {
  const [own] = process.versions.node.split('.');
  return [Object.keys(nodes).at(0), Object.keys(nodes).at(-1)]
    .filter((major) => major !== own)
    .map((major) => {
      console.log(`the fast half, Node ${nodes[major].version}`);
      try {
        return runVitest(fastHalf, { bin: installNode(nodes[major]) });
      } catch (error) {
        console.log(`skipped: npm could not install it (${String(error.message).split('\n')[0]})`);
        return nothing;
      }
    });
}

/** Runs a program that is one check, and prints what it prints. */
function runCheck(file, ...flags) {
  const { status } = spawnSync(process.execPath, [...flags, path.join(root, file)], { cwd: root, stdio: 'inherit' });
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0 };
}

const commitSubjects = ['subjects of commits', process.execPath, ['.ci/commit-subjects.mjs']];
// Leaves out the check of boundaries, because it consists of vitest files, which the vitest run counts.
const wanted = checks.filter(([label]) => (isPortable ? label === 'types' : label !== 'boundaries'));
const results = await runChecks([...wanted, ...(isEverything ? [commitSubjects] : [])]);
const tests = runVitest(vitestArgs);
const testMinutes = minutes();
speeds.push(await measureSpeed());
const counts = [
  { passed: results.filter(Boolean).length, failed: results.filter((ok) => !ok).length, skipped: 0 },
  tests,
];
if (isEverything) {
  counts.push(...runOtherNodes(), runLongTests(tests));
  const downloads = startDownloads();
  counts.push(await runLater('gate of the cheapest tutorial', undefined, runCheapestGate));
  counts.push(
    await runLater('clients in Python', downloads.clients, () =>
      runVitest(['test/endpoint/python-clients.test.ts', 'tutorial/any-language']),
    ),
  );
  counts.push(await runLater('newest majors of the frameworks, Node 24', downloads.newest, runNewest));
  counts.push(
    await runLater('commands of the skills', undefined, () => runCheck('test/skills/main.ts', '--import', 'tsx')),
  );
  counts.push(await runLater('site', downloads.site, () => runCheck('docs/site/build.mjs')));
}
const overBudget = await judgeTime(tests, testMinutes);
if (isEverything) counts.push({ passed: 0, failed: overBudget, skipped: 0 });
const sum = (name) => counts.reduce((total, count) => total + (count[name] ?? 0), 0);
if (sum('skipped') > 0) console.log(`${sum('skipped')} skipped`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(sum('failed') === 0 && sum('passed') > 0 ? 0 : 1);
