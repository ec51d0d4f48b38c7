/**
 * What happens to a swarm's server under requests that it must refuse? It sends 10,000 requests to a real server
 * process: no key, wrong, expired, foreign and wrong-role keys, and bodies that are huge, deep, slow, cut short or not
 * JSON at all. The server must refuse every request and must not end, and what it had acknowledged must not change.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchOptions, type BenchResult, numberOption } from '../bench.js';
import { inParallel, Requests } from '../swarm/requests.js';
import { ServerProcess } from '../swarm/server-process.js';
import { claim, end, postTasks } from '../swarm/swarm-load.js';
import { createAttacks, type Attack, type Target } from './attacks.js';
import { Attacker } from './attacker.js';

const concurrency = 32;

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-hostile-'));
  const count = numberOption(args, '--requests', 10_000);
  try {
    const { summary, details } = await attack(dir, { count, report });
    return { summary, details };
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
