import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { isJsonObject, parseJson, type Task } from '@agentjet/core';
import type { Environment, Session } from '@agentjet/rollout';
import { openBench, readTasks, run } from './play.js';

/**
 * Attacks on the verifier of tasks that no agent can solve: those of `vault`, whose secret is in the tests. An attack is a
 * shell script that the agent runs as root. It is paid if it gets a reward of at least 1. Someone who had not read the code
 * wrote the attacks whose names begin with `outside-`. Those with `steps-` attack a task with two steps, and their line
 * `# second step` begins the second part. Those with `hosts-` follow `begin-hosts.sh` in one script, and try to reach the
 * machine that runs the episodes, which serves the secret.
 */

const here = import.meta.dirname;
export const attacksFolder = path.join(here, 'attacks');

export const listAttacks = (): readonly string[] =>
  readdirSync(attacksFolder)
    .filter((name) => name.endsWith('.sh'))
    .sort();

/**
 * `unguarded`: a naive verifier in the agent's machine, which ends and empties nothing, and for `hosts-` a machine with a
 * network.
 */
export type AttackModes = { readonly unguarded: Outcome; readonly shared: Outcome; readonly separate: Outcome };
export type Outcome = { readonly isPaid: boolean; readonly seen: string };

type Verify = (session: Session, task: Task) => Promise<number | undefined>;

export async function tryAttack(name: string, source: string): Promise<AttackModes> {
  const tasks = await readTasks(path.join(here, 'vault'));
  const environment = openBench({ commandSeconds: name.startsWith('hosts-') ? 300 : 20 });
  const kind = /^(steps|hosts)-/.exec(name)?.[0] ?? '';
  const served = kind === 'hosts-' ? await serveSecret() : undefined;
  const parts = (served?.fill(source) ?? source).split(/^# second step$/m);
  const attack = async (id: string, verify: Verify): Promise<Outcome> => {
    const task = tasks.find(({ taskId }) => taskId === `${kind}${id}`);
    if (task === undefined) throw new Error(`There is no task ${kind}${id}.`);
    return outcomeOf(environment, task, { parts, verify });
  };
  try {
    return {
      unguarded: await attack(kind === 'hosts-' ? 'public' : 'shared', verifyNaively),
      shared: await attack('shared', verifyStep),
      separate: await attack('separate', verifyStep),
    };
  } finally {
    served?.close();
  }
}

async function outcomeOf(
  environment: Environment,
  task: Task,
  { parts, verify }: { readonly parts: readonly string[]; readonly verify: Verify },
): Promise<Outcome> {
  const options = { seed: 1, signal: new AbortController().signal, episodeId: 'attack' };
  const session = await environment.open(task, options);
  try {
    let reward: number | undefined;
    for (const part of parts) {
      await run(part)(session, task);
      reward = await verify(session, task);
    }
    return { isPaid: (reward ?? 0) >= 1, seen: `reward ${reward}` };
  } catch (error) {
    return { isPaid: false, seen: String(error).slice(0, 300) };
  } finally {
    await session.close();
  }
}

/** Scores a step if the task has several, or else the task. */
const verifyStep: Verify = async (session) =>
  session.step === undefined ? (await session.evaluate?.())?.reward : ((await session.step('')).reward ?? undefined);

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

/** Serves the secret at every address of this machine. `fill` puts the common beginning, the port and the addresses into an attack. */
async function serveSecret() {
  const secret = readFileSync(path.join(here, 'vault', 'shared', 'tests', 'secret.txt'), 'utf8');
  const beginning = readFileSync(path.join(here, 'begin-hosts.sh'), 'utf8');
  const server = createServer((_request, response) => response.end(secret));
  await new Promise<void>((resolve) => void server.listen(0, '::', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    fill: (source: string): string =>
      `${beginning}${source}`.replaceAll('PORT', String(port)).replaceAll('ADDRESSES', () => ownAddresses().join(' ')),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Addresses of bridges of engines exist once a box is running. */
function ownAddresses(): readonly string[] {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = own.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address);
  return [...new Set([...found, '10.88.0.1', '172.17.0.1'])];
}
