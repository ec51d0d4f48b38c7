import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isJsonObject, parseJson, type Task } from '@agentjet/core';
import { inParallel } from '../in-parallel.js';
import { tasksFolder } from './play.js';

/**
 * Harbor itself, from PyPI, as the reference for the verdicts of our tasks. It runs tasks with several machines through
 * podman-compose. A task that changes its network needs images of a registry, so Harbor refuses it without one.
 */

const run = promisify(execFile);
const version = '0.25.0';
const packages = [`harbor==${version}`, 'podman-compose==1.6.0'];
const home = path.join(homedir(), '.cache', `agentjet-harbor-${version}`);

/** Returns the program, after it was installed if necessary, or what is missing. AJET_HARBOR names another one. */
export async function findHarbor(): Promise<{ readonly program: string } | string> {
  const { AJET_HARBOR: given } = process.env;
  if (given !== undefined) return { program: given };
  const program = path.join(home, 'bin', 'harbor');
  if (existsSync(program) && existsSync(path.join(home, 'bin', 'podman-compose'))) return { program };
  for (const python of ['python3.12', ...pyenvPythons()]) {
    try {
      await run(python, ['-m', 'venv', home]);
      await run(path.join(home, 'bin', 'pip'), ['install', '-q', ...packages]);
      return { program };
    } catch {
      await rm(home, { recursive: true, force: true }); // the next Python may work
    }
  }
  return `Harbor ${version} needs Python 3.12: install it, for example with \`pyenv install 3.12\``;
}

function pyenvPythons(): readonly string[] {
  const versions = path.join(homedir(), '.pyenv', 'versions');
  const names = existsSync(versions) ? readdirSync(versions) : [];
  return names.filter((name) => /^3\.1[2-9]/.test(name)).map((name) => path.join(versions, name, 'bin', 'python'));
}

type Compared = {
  readonly summary: Readonly<Record<string, number | string>>;
  readonly verdicts: Readonly<Record<string, number | string>>;
};

/**
 * Counts the verdicts of Harbor that equal ours: 1 for the solution, and 0 for doing nothing. `harbor_differs` counts other
 * verdicts, and `harbor_refused` the trials without one.
 */
export async function compareWithHarbor(
  tasks: readonly Pick<Task, 'taskId'>[],
  { parallel, report }: { readonly parallel: number; readonly report: (line: string) => void },
): Promise<Compared> {
  const harbor = await findHarbor();
  if (typeof harbor === 'string') return { summary: { equal_to_harbor: harbor }, verdicts: {} };
  const trials = tasks.flatMap(({ taskId }) => (['oracle', 'nop'] as const).map((agent) => ({ taskId, agent })));
  const rewards = await inParallel(trials, parallel, async ({ taskId, agent }) => {
    const reward = await harborReward(harbor.program, path.join(tasksFolder, taskId), agent);
    report(`Harbor, ${taskId}: ${agent} ${reward}`);
    return [`${taskId} ${agent}`, reward] as const;
  });
  const verdicts = Object.fromEntries(rewards);
  return { summary: countVerdicts(verdicts), verdicts };
}

export function countVerdicts(verdicts: Compared['verdicts']): Compared['summary'] {
  const all = Object.entries(verdicts);
  const given = all.filter(([, verdict]) => typeof verdict === 'number');
  const equal = given.filter(([trial, verdict]) => verdict === (trial.endsWith(' oracle') ? 1 : 0));
  return {
    equal_to_harbor: equal.length,
    harbor_differs: given.length - equal.length,
    harbor_refused: all.length - given.length,
  };
}

/** Runs a task with Harbor's agent `oracle` or `nop`. Returns the reward, or what happened instead. */
export async function harborReward(program: string, task: string, agent: 'oracle' | 'nop'): Promise<number | string> {
  const trials = await mkdtemp(path.join(tmpdir(), 'harbor-trials-'));
  const folder = path.dirname(program);
  const name = path.basename(trials); // containers of trials with the same name would be the same
  const args = [
    'trial',
    'start',
    '-p',
    task,
    '-a',
    agent,
    '-e',
    'podman',
    '--trial-name',
    name,
    '--trials-dir',
    trials,
    '--no-delete', // it would remove the image from which the other tasks are built
  ];
  try {
    const env = { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` };
    await run(program, args, { env, maxBuffer: 2 ** 26, timeout: 600_000 });
    return rewardOf(await readResult(trials));
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    return said.trim().split('\n').slice(-3).join(' ');
  } finally {
    await rm(trials, { recursive: true, force: true });
  }
}

async function readResult(trials: string): Promise<unknown> {
  for (const name of await readdir(trials, { recursive: true }))
    if (path.basename(name) === 'result.json') return parseJson(await readFile(path.join(trials, name), 'utf8'));
  return undefined;
}

function rewardOf(result: unknown): number | string {
  const { verifier_result: verifier, exception_info: exception } = isJsonObject(result) ? result : {};
  const rewards = isJsonObject(verifier) ? verifier['rewards'] : undefined;
  const reward = isJsonObject(rewards) ? rewards['reward'] : undefined;
  if (typeof reward === 'number') return reward;
  if (!isJsonObject(exception)) return 'no reward';
  return `${String(exception['exception_type'])}: ${String(exception['exception_message']).slice(0, 300)}`;
}
