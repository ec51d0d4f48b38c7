/**
 * What happens to a swarm's server under requests that it must refuse? It sends 10,000 requests to a real server
 * process: no key, wrong, expired, foreign and wrong-role keys, and bodies that are huge, deep, slow, cut short or not
 * JSON at all. The server must refuse every request and must not end, and what it had acknowledged must not change.
 * Then it tries keys on routes and shares that they must not open, settings that name code, and reports that would move
 * the rewards of others. Honest requests must not be refused.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from '../swarm/requests.js';
import { ServerProcess } from '../swarm/server-process.js';
import { claim, end, postTasks } from '../swarm/swarm-load.js';
import { createAttacks, type Attack, type Target } from './attacks.js';
import { Attacker } from './attacker.js';
import { beHonest } from './honest.js';
import { openGuarded } from './open-server.js';
import { poison } from './poison.js';
import { Tally } from './tally.js';
import { tryKeys } from './try-keys.js';
import { trySettings } from './try-settings.js';

const concurrency = 32;

export const optionTexts: OptionTexts = { '--requests <n>': 'default 10000' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-hostile-'));
  const count = numberOption(args, '--requests', 10_000);
  try {
    const { summary, details } = await attack(dir, { count, report });
    const kept = await tryGuards(path.join(dir, 'standby'), { count: Math.ceil(count / 10), report });
    return { summary: { ...summary, ...kept }, details };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Options = { readonly count: number; readonly report: (line: string) => void };

async function attack(dir: string, { count, report }: Options): Promise<BenchResult> {
  const server = await ServerProcess.start('guarded', dir);
  await server.lookForStalls();
  const requests = new Requests(4);
  const target = await prepare(requests, server);
  const before = await stateOf(server);
  await server.usage(); // stalls before the attack are not counted
  const attacker = new Attacker(server.url);
  const attacks = createAttacks(target);
  const seen = new Map<string, number>();
  let letIn = 0;
  let failures = 0;
  let maxUnkeyedBytes = 0;
  const one = async (attackOne: Attack): Promise<void> => {
    const { status, sentBytes } = await attacker.send(attackOne);
    const key = `${attackOne.name}: ${status}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (status >= 200 && status < 300) letIn++;
    if (status === 500) failures++;
    if (attackOne.isUnkeyed === true) maxUnkeyedBytes = Math.max(maxUnkeyedBytes, sentBytes);
  };
  await inParallel(
    Array.from({ length: count }, (_none, index) => attacks[index % attacks.length] as Attack),
    concurrency,
    one,
  );
  const { longestStallMs, rssMb } = await server.usage();
  const after = await stateOf(server);
  const isChanged = JSON.stringify(before) !== JSON.stringify(after);
  const crashes = server.numExits + failures;
  requests.close();
  attacker.close();
  await server.kill();
  for (const [answer, times] of seen) report(`${String(times).padStart(6)} ${answer}`);
  report(`what the server keeps has ${isChanged ? 'changed' : 'not changed'}; ${Math.round(rssMb)} MB`);
  const longest = Math.round(longestStallMs * 10) / 10;
  return {
    summary: { requests: count, let_in: letIn + (isChanged ? 1 : 0), crashes, longest_stall_ms: longest },
    details: {
      answers: Object.fromEntries(seen),
      before,
      after,
      bytes_sent_of_large_bodies_without_a_key: maxUnkeyedBytes,
      rss_mb: Math.round(rssMb),
    },
  };
}

/** Tries what keys, settings and reports must not be able to do. Then tries what honest clients must be able to do. */
async function tryGuards(dir: string, { count, report }: Options) {
  const [keys, poisoned, honest] = [new Tally(), new Tally(), new Tally()];
  const guarded = await openGuarded();
  try {
    await tryKeys(guarded, keys);
    await poison(guarded, poisoned, count);
    await beHonest(guarded, honest, count);
  } finally {
    await guarded.close();
  }
  await trySettings(dir, { keys, honest });
  for (const line of [keys, poisoned, honest].flatMap(({ wrong }) => wrong)) report(line);
  return {
    keys: { tried: keys.tried, let_through: keys.wrong.length },
    poison: { tried: poisoned.tried, moved: poisoned.wrong.length },
    honest: { tried: honest.tried, refused: honest.wrong.length },
  };
}

/** Opens two episodes of two clients and ends one of them. Makes a key for each role, and a key that has expired. */
async function prepare(requests: Requests, { url, key }: ServerProcess): Promise<Target> {
  await postTasks(requests, url, 1000, key);
  const ended = await claim(requests, url, key);
  await end(requests, url, ended, { key });
  const running = await claim(requests, url, key);
  const other = await claim(requests, url, key);
  const make = async (body: Readonly<Record<string, unknown>>): Promise<string> =>
    String((await requests.post(`${url}/swarm/v1/keys`, body, key))['key']);
  return {
    running: running.episode_id,
    runningClaim: running.claim_id,
    runningKey: running.key,
    ended: ended.episode_id,
    otherKey: other.key,
    observer: await make({ name: 'watch', role: 'observer' }),
    worker: await make({ name: 'lab', role: 'worker', reward_bounds: [0, 1] }),
    expired: await makeExpired(make),
  };
}

/** Makes a key that expires soon, and waits until it has. The server refuses to make a key that is already expired. */
async function makeExpired(make: (body: Readonly<Record<string, unknown>>) => Promise<string>): Promise<string> {
  const expires = new Date(Date.now() + 1000);
  const key = await make({ name: 'old', role: 'commander', expires_at: expires.toISOString() });
  while (Date.now() <= expires.getTime()) await new Promise((resolve) => setTimeout(resolve, 100));
  return key;
}

async function stateOf({ url, key }: ServerProcess): Promise<unknown> {
  const response = await fetch(`${url}/swarm/v1/server`, { headers: { authorization: `Bearer ${key}` } });
  const { account, config_revision, tasks, step } = (await response.json()) as Readonly<Record<string, unknown>>;
  return { account, config_revision, tasks, step };
}
