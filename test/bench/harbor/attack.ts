import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject, parseJson, type Task } from '@agentjet/core';
import type { Environment, Session } from '@agentjet/rollout';
import { openBench, readTasks, run } from './play.js';

/**
 * Attacks on the verifier of a task that no agent can solve: `vault`, whose secret is in the tests. An attack is a shell
 * script that the agent runs as root. It is paid if it gets a reward of at least 1.
 */

const here = import.meta.dirname;
export const attacksFolder = path.join(here, 'attacks');

export const listAttacks = (): readonly string[] =>
  readdirSync(attacksFolder)
    .filter((name) => name.endsWith('.sh'))
    .sort();

/** `unguarded`: a naive verifier in the agent's machine, which ends and empties nothing. */
export type AttackModes = { readonly unguarded: Outcome; readonly shared: Outcome; readonly separate: Outcome };
export type Outcome = { readonly isPaid: boolean; readonly seen: string };

export async function tryAttack(script: string): Promise<AttackModes> {
  const tasks = await readTasks(path.join(here, 'vault'));
  const environment = openBench({ commandSeconds: 20 });
  const find = (id: string): Task => {
    const task = tasks.find(({ taskId }) => taskId === id);
    if (task === undefined) throw new Error(`There is no task ${id}.`);
    return task;
  };
  const attack = async (id: string, verify: (session: Session, task: Task) => Promise<number | undefined>) =>
    outcomeOf(environment, find(id), { script, verify });
  const evaluate = async (session: Session): Promise<number | undefined> => (await session.evaluate?.())?.reward;
  return {
    unguarded: await attack('shared', verifyNaively),
    shared: await attack('shared', evaluate),
    separate: await attack('separate', evaluate),
  };
}

async function outcomeOf(
  environment: Environment,
  task: Task,
  { script, verify }: { script: string; verify: (session: Session, task: Task) => Promise<number | undefined> },
): Promise<Outcome> {
  const options = { seed: 1, signal: new AbortController().signal, episodeId: 'attack' };
  const session = await environment.open(task, options);
  try {
    await run(script)(session, task);
    const reward = await verify(session, task);
    return { isPaid: (reward ?? 0) >= 1, seen: `reward ${reward}` };
  } catch (error) {
    return { isPaid: false, seen: String(error).slice(0, 300) };
  } finally {
    await session.close();
  }
}

/** Copies the tests into the living machine, runs them, and reads the reward there. */
async function verifyNaively(session: Session, { metadata }: Task): Promise<number | undefined> {
  const { folder } = metadata['harbor'] as { readonly folder: string };
  for (const name of readdirSync(path.join(folder, 'tests')))
    await session.call?.('write', {
      path: `/tests/${name}`,
      content: readFileSync(path.join(folder, 'tests', name), 'utf8'),
    });
  await session.call?.('bash', { command: 'chmod +x /tests/test.sh; /tests/test.sh > /dev/null 2>&1' });
  const json = await session.call?.('read', { path: '/logs/verifier/reward.json' });
  const read = json?.isError === true ? await session.call?.('read', { path: '/logs/verifier/reward.txt' }) : json;
  const value = parseJson(read?.text.trim() ?? '');
  const reward = isJsonObject(value) ? value['reward'] : value;
  return typeof reward === 'number' ? reward : undefined;
}
