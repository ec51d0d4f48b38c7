import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '@agentjet/core';
import { writeJob } from '../e2e/support/job-files.js';
import { onlyRun } from '../e2e/support/read-run.js';
import { runAjet, startAjet, type Finished } from '../e2e/support/run-ajet.js';
import { findDifference, readOutcome, type RunOutcome } from './run-outcome.js';
import { looksLikeStack, pick, type Attack, type Case, type World } from './world.js';

/**
 * Kills runs or fills up their disk, and resumes them. The resulting run must be equal to an undisturbed one. The same
 * holds for a run that was stopped for a while, or whose folder was moved. A random kill comes from another process
 * after a random time. A kill at a write comes from the process itself, when a part of the write is on disk.
 */
type Mishap =
  | { readonly kind: 'kill'; readonly afterMs: number }
  | { readonly kind: 'kill'; readonly match: string; readonly occurrence: number; readonly part: number }
  | { readonly kind: 'stop'; readonly afterMs: number; readonly forMs: number }
  | { readonly kind: 'move'; readonly afterMs: number }
  | { readonly kind: 'full'; readonly afterBytes: number; readonly code: string };

type Timed = Extract<Mishap, { readonly afterMs: number }>;

const train = ['--conf', 'job.yaml'];
const changes = { trainer_common: { save_freq: 2, total_training_steps: 5, val_before_train: true } };

/**
 * An agent with pauses that are different each time. The calls that are sampled together therefore differ from run to
 * run.
 */
const restless = {
  'agent.ts': `
const pause = () => new Promise((resolve) => setTimeout(resolve, 8 * Math.random()));
export async function sayLetters(task, tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  await pause();
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  const letters = message.content.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 8, isSuccess: letters > 2, logMetrics: { letters } };
}
`,
};

const places = [
  'metrics\\.jsonl$',
  'evaluations\\.jsonl$',
  'episodes/step-\\d+\\.jsonl$',
  'index/step-\\d+\\.jsonl$',
  'annotations/',
  'log\\.jsonl$',
  'sums\\.jsonl',
  'model\\.json',
  'reward\\.svg',
  'report\\.html',
  'latest',
  'state\\.json',
  'safetensors',
  'checkpoints/step-\\d+$',
  'writer\\.json',
  'tokenizer',
];

function drawKill(random: Random): Mishap {
  const afterMs = Math.floor(random.next() * 1500);
  const drawn = random.next();
  if (drawn < 0.3) return { kind: 'kill', afterMs };
  if (drawn < 0.36) return { kind: 'stop', afterMs, forMs: 500 + random.int(1500) };
  if (drawn < 0.42) return { kind: 'move', afterMs };
  return {
    kind: 'kill',
    match: pick(random, places),
    occurrence: 1 + random.int(4),
    part: pick(random, [0, 0.5, 0.99]),
  };
}

const drawFullDisk = (random: Random): Mishap => ({
  kind: 'full',
  afterBytes: Math.floor(600_000 * random.next() ** 2),
  code: pick(random, ['ENOSPC', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO']),
});

const hook = path.join(import.meta.dirname, 'fail-writes.mjs');

async function meet(folder: string, args: readonly string[], mishap: Mishap): Promise<Finished> {
  if (!('afterMs' in mishap)) {
    const plan = { folder: path.join(folder, 'saved_experiments'), ...mishap };
    const env = { CHAOS_WRITES: JSON.stringify(plan) };
    return runAjet(folder, args, { env, nodeArgs: ['--import', hook] });
  }
  const running = startAjet(folder, args);
  await running.waitFor(/^run /m).catch(() => undefined);
  const timer = setTimeout(() => befall(folder, running.child, mishap), mishap.afterMs);
  const finished = await running.finished;
  clearTimeout(timer);
  return finished;
}

function befall(folder: string, child: ChildProcess, mishap: Timed): void {
  if (mishap.kind === 'kill') child.kill('SIGKILL');
  else if (mishap.kind === 'stop') {
    child.kill('SIGSTOP');
    setTimeout(() => child.kill('SIGCONT'), mishap.forMs);
  } else if (existsSync(path.join(folder, 'saved_experiments'))) {
    renameSync(path.join(folder, 'saved_experiments'), path.join(folder, `moved-${child.pid ?? 0}`));
  }
}

type Setting = { readonly world: World; readonly modelDir: string; readonly whole: RunOutcome };

async function runOnce({ world, modelDir, whole }: Setting, attack: string, each: Case): Promise<void> {
  const draw = attack === 'kills' ? drawKill : drawFullDisk;
  const mishaps = Array.from({ length: 1 + each.random.int(2) }, () => draw(each.random));
  const folder = path.join(world.folder, `${attack}-${each.index}`);
  mkdirSync(folder, { recursive: true });
  writeJob(folder, modelDir, restless, changes);
  for (const [at, mishap] of mishaps.entries()) {
    const hasRun = at > 0 && hasRunFolder(folder);
    const ended = await meet(folder, hasRun ? [...train, '--resume'] : train, mishap);
    if (ended.signal === 'SIGKILL' && mishap.kind === 'kill') world.counts.kills++;
    check(each, mishaps, ended, mishap.kind === 'kill');
  }
  const last = await runAjet(folder, hasRunFolder(folder) ? [...train, '--resume'] : train);
  check(each, mishaps, last, false);
  const problem = last.code === 0 ? differenceOf(whole, folder) : `--resume ended with ${last.code}: ${last.stderr}`;
  if (problem === undefined) rmSync(folder, { recursive: true, force: true });
  else each.found('wrong_ends', mishaps, problem);
}

function hasRunFolder(folder: string): boolean {
  try {
    if (existsSync(path.join(onlyRun(folder), 'config.yaml'))) return true;
    rmSync(path.join(folder, 'saved_experiments'), { recursive: true }); // it never began
    return false;
  } catch {
    return false;
  }
}

function differenceOf(whole: RunOutcome, folder: string): string | undefined {
  try {
    return findDifference(whole, readOutcome(onlyRun(folder)));
  } catch (error) {
    return String(error);
  }
}

/** Reports a run that was killed at its time limit as hung, and a run that printed a stack. */
function check(
  each: Case,
  mishaps: readonly Mishap[],
  { signal, stdout, stderr }: Finished,
  mayBeKilled: boolean,
): void {
  if (signal === 'SIGKILL' && !mayBeKilled) each.found('hangs', mishaps, `${stdout}\n${stderr}`.slice(-1000));
  if (looksLikeStack(`${stdout}\n${stderr}`)) each.found('stack_traces', mishaps, stderr.slice(-1500));
}

/**
 * `kills` sends a SIGKILL, sometimes twice, or stops the run for a while, or moves its folder. `full-disks` fails
 * writes after a number of bytes.
 */
export async function createKills(world: World, modelDir: string, name: 'kills' | 'full-disks'): Promise<Attack> {
  const folder = path.join(world.folder, `${name}-whole`);
  mkdirSync(folder, { recursive: true });
  writeJob(folder, modelDir, restless, changes);
  const { code, stderr } = await runAjet(folder, train);
  if (code !== 0) throw new Error(`The uninterrupted run ended with ${code}: ${stderr}`);
  const setting = { world, modelDir, whole: readOutcome(onlyRun(folder)) };
  return { name, runCase: (each) => runOnce(setting, name, each), close: async () => undefined };
}
