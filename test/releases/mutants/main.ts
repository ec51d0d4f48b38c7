import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { plantMutant } from '../../mutants/plant-mutant.js';
import { keepResult, readTree } from '../../bench/keep-result.js';
import { judgeCell, type GateRun, type Verdict } from '../gate.js';
import { regressions } from './regressions.js';

/**
 * `npm run releases:mutants` tests the gate itself. Each planted regression must turn it red. Of 40 reruns of the
 * unchanged code with other seeds, at most one may turn it red. The rule that equal metrics are green is not tested,
 * because only seeds other than the baseline's are trained. The outcome is kept in `results/gate.json`, unless the
 * working tree differs from its commit.
 */

const root = path.resolve(import.meta.dirname, '../../..');
const isJson = process.argv.includes('--json');
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The number of seeds that five releases of three seeds keep. */
const numBaselineSeeds = 15;
const numReruns = 40;
const mostFalseAlarms = 1;

/** Trains these seeds with a regression planted, or with the code unchanged. */
async function trainSeeds(seeds: readonly number[], regression?: number): Promise<readonly GateRun[]> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'releases-'));
  const report = path.join(scratch, 'runs.json');
  try {
    const output = await runVitest({
      SEEDS: seeds.join(','),
      REPORT: report,
      ...(regression === undefined ? {} : { REGRESSION: String(regression) }),
    });
    const text = await readFile(report, 'utf8').catch(() =>
      Promise.reject(new Error(`The seeds did not train:\n${output}`)),
    );
    return JSON.parse(text) as readonly GateRun[];
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function runVitest(env: Readonly<Record<string, string>>): Promise<string> {
  const program = path.join(root, 'node_modules/vitest/vitest.mjs');
  const config = path.join(import.meta.dirname, 'vitest.config.ts');
  const child = spawn(process.execPath, [program, 'run', '--config', config, '--reporter=default'], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

/** Each verdict uses six consecutive seeds, and none is used twice. */
function seedsOf(verdict: number): readonly number[] {
  const first = 1000 + 6 * verdict;
  return Array.from({ length: 6 }, (_, index) => first + index);
}

function judge(baseline: readonly GateRun[], runs: readonly GateRun[]): Promise<Verdict> {
  const of = (seeds: readonly number[]): readonly GateRun[] => runs.filter(({ seed }) => seeds.includes(seed));
  const seeds = runs.map(({ seed }) => seed);
  return judgeCell({
    baseline,
    seeds: seeds.slice(0, 3),
    moreSeeds: seeds.slice(3),
    run: (asked) => Promise.resolve(of(asked)),
  });
}

async function countCaught(baseline: readonly GateRun[]): Promise<number> {
  let caught = 0;
  for (const [index, regression] of regressions.entries()) {
    plantMutant(regression, await readFile(path.join(root, regression.file), 'utf8'));
    const { color, reasons } = await judge(baseline, await trainSeeds(seedsOf(index), index));
    say(`${regression.name}: ${color}${reasons.map((reason) => `\n  ${reason}`).join('')}`);
    if (color === 'red') caught++;
  }
  return caught;
}

async function countFalseAlarms(baseline: readonly GateRun[]): Promise<number> {
  const seeds = Array.from({ length: numReruns }, (_, index) => seedsOf(regressions.length + index));
  const runs = await trainSeeds(seeds.flat());
  let alarms = 0;
  for (const group of seeds) {
    const { color, reasons } = await judge(
      baseline,
      runs.filter(({ seed }) => group.includes(seed)),
    );
    if (color !== 'red') continue;
    alarms++;
    say(`false alarm with seeds ${group.join(', ')}: ${reasons.join('; ')}`);
  }
  return alarms;
}

const tree = readTree(import.meta.dirname);
const startedAt = performance.now();
const baseline = await trainSeeds(Array.from({ length: numBaselineSeeds }, (_, index) => index + 1));
const caught = await countCaught(baseline);
const falseAlarms = await countFalseAlarms(baseline);
const summary = { planted: regressions.length, caught, reruns: numReruns, false_alarms: falseAlarms };
const seconds = Math.round((performance.now() - startedAt) / 1000);
if (tree.commit === null) say(`not kept: ${tree.problem}`);
else
  keepResult(
    path.join(import.meta.dirname, 'results'),
    { kind: 'job', name: 'gate', commit: tree.commit },
    { summary, details: { seconds } },
  );
if (isJson) process.stdout.write(`${JSON.stringify(summary)}\n`);
else say(`${caught} of ${summary.planted} regressions caught; ${falseAlarms} false alarms in ${numReruns} reruns`);
process.exitCode = caught === regressions.length && falseAlarms <= mostFalseAlarms ? 0 : 1;
