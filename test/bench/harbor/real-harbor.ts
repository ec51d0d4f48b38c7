import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isJsonObject, parseJson } from '@agentjet/core';

/** Harbor itself, from PyPI, as the reference for the verdicts of our tasks. */

const run = promisify(execFile);
const version = '0.25.0';
const home = path.join(homedir(), '.cache', `agentjet-harbor-${version}`);

/** Returns the program, after it was installed if necessary, or what is missing. AJET_HARBOR names another one. */
export async function findHarbor(): Promise<{ readonly program: string } | string> {
  const program = process.env['AJET_HARBOR'] ?? path.join(home, 'bin', 'harbor');
  if (existsSync(program)) return { program };
  for (const python of ['python3.12', ...pyenvPythons()]) {
    try {
      await run(python, ['-m', 'venv', home]);
      await run(path.join(home, 'bin', 'pip'), ['install', '-q', `harbor==${version}`, 'podman-compose==1.6.0']);
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

/** Runs a task with Harbor's agent `oracle` or `nop`. Returns the reward, or what happened instead. */
export async function harborReward(program: string, task: string, agent: 'oracle' | 'nop'): Promise<number | string> {
  const trials = await mkdtemp(path.join(tmpdir(), 'harbor-trials-'));
  const folder = path.dirname(program);
  const args = ['trial', 'start', '-p', task, '-a', agent, '-e', 'podman', '--trial-name', 't', '--trials-dir', trials];
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
  return isJsonObject(exception) ? String(exception['exception_type']) : 'no reward';
}
