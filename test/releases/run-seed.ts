import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Cell } from './cells.js';
import type { SeedResult } from './cell-result.js';
import { hashConfig, readSeedResult } from './read-seed-result.js';
import { serveWhile } from './serve-while.js';

/**
 * Trains one cell with one seed in a separate process, between two runs of the reference calculation. Speed is the
 * ratio of their processor times in the same minute, because wall time on a shared machine says little.
 */

const root = path.resolve(import.meta.dirname, '../..');
const ajet = path.join(root, 'packages/cli/dist/main.js');

const reporter = path.join(import.meta.dirname, 'report-cpu.mjs');

type Ended = { readonly cpuSeconds: number; readonly seconds: number };

/** Runs a Node program to its end; `report-cpu.mjs`, which is loaded with it, writes its processor time into `scratch`. */
async function runNode(scratch: string, args: readonly string[], env: Cell['env'] = {}): Promise<Ended> {
  const startedAt = performance.now();
  const report = path.join(scratch, 'cpu.txt');
  const child = spawn(process.execPath, ['--import', reporter, ...args], {
    cwd: root,
    env: { ...process.env, ...env, CPU_REPORT: report },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}:\n${errors}`);
  return { cpuSeconds: Number(await readFile(report, 'utf8')), seconds: (performance.now() - startedAt) / 1000 };
}

async function findRunDir(experimentDir: string): Promise<string> {
  const [experiment = ''] = await readdir(experimentDir);
  const [run = ''] = await readdir(path.join(experimentDir, experiment));
  return path.join(experimentDir, experiment, run);
}

const reference = path.join(import.meta.dirname, 'reference-calculation.mjs');

/** What `ajet sft` makes of the cell's model, in a folder whose name is always the same. */
async function imitate(cell: Cell, seed: number, scratch: string): Promise<string> {
  const runs = path.join(scratch, 'imitation');
  const options = [`experiment_dir=${runs}`, `trainer_common.seed=${seed}`, 'trainer_common.save_freq=0'];
  const conf = ['--conf', path.join(root, cell.conf), `--backbone=${cell.backbone}`];
  await runNode(scratch, [ajet, 'sft', ...conf, ...options]);
  const checkpoints = path.join(await findRunDir(runs), 'checkpoints');
  const [last = ''] = (await readdir(checkpoints))
    .filter((name) => name.startsWith('step-'))
    .toSorted()
    .reverse();
  const model = path.join(scratch, 'imitated');
  await rename(path.join(checkpoints, last), model);
  return model;
}

const policyFolder = ({ servedPolicy }: Cell): readonly string[] =>
  servedPolicy === undefined ? [] : ['policies', servedPolicy];

/** The run itself. A server of several policies is a second process, whose processor time counts too. */
async function train({ servedPolicy, env = {} }: Cell, scratch: string, args: readonly string[]): Promise<Ended> {
  if (servedPolicy === undefined) return runNode(scratch, [ajet, ...args], env);
  const report = path.join(scratch, 'server-cpu.txt');
  const command = ['--import', reporter, ajet, 'swarm', 'serve', '--port=0', ...args];
  const ended = await serveWhile(command, { cwd: root, env: { ...env, CPU_REPORT: report } }, ({ url, key }) =>
    runNode(scratch, [ajet, 'swarm', 'run', '--server', url, ...args], { ...env, AJET_SWARM_KEY: key }),
  );
  return { ...ended, cpuSeconds: ended.cpuSeconds + Number(await readFile(report, 'utf8')) };
}

/** One seed of a cell; the run folder is read and removed. Rejects with the end of the program's errors if it fails. */
export async function runSeed(
  cell: Cell,
  seed: number,
): Promise<{ readonly result: SeedResult; readonly configSha256: string }> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'release-'));
  const experimentDir = path.join(scratch, 'runs');
  try {
    const started = cell.imitatesFirst === true ? [`model.path=${await imitate(cell, seed, scratch)}`] : [];
    const before = await runNode(scratch, [reference]);
    const args = [
      '--conf',
      path.join(root, cell.conf),
      '--json',
      `backbone=${cell.backbone}`,
      `experiment_dir=${experimentDir}`,
      `trainer_common.seed=${seed}`,
      ...started,
      ...cell.overrides,
    ];
    const ended = await train(cell, scratch, args);
    const after = await runNode(scratch, [reference]);
    const runDir = await findRunDir(experimentDir);
    const speed = (before.cpuSeconds + after.cpuSeconds) / 2 / ended.cpuSeconds;
    return {
      result: await readSeedResult(path.join(runDir, ...policyFolder(cell)), { seed, speed, seconds: ended.seconds }),
      configSha256: await hashConfig(runDir, [root, scratch]),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
