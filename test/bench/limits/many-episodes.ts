import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { storeFormat } from '@agentjet/ledger';
import { root } from '../../../.ci/workspaces.mjs';
import { inParallel } from '../in-parallel.js';
import { Requests } from '../swarm/requests.js';
import { nodeFlags } from '../swarm/server-process.js';
import { claim, end, postTasks } from '../swarm/swarm-load.js';

export type ManyEpisodes = {
  readonly episodes: number;
  /** The longest delay of the server's event loop, minus that of an idle process at the same time. */
  readonly longest_delay_over_idle_ms: number;
  /** The time from the start of a server, after a kill, to its first claim. */
  readonly start_seconds: number;
  /** The episodes per second of 1,000 clients, divided by those of 64 clients. */
  readonly throughput_1000_over_64: number;
};

type Report = (line: string) => void;
type Child = { readonly child: ChildProcess; readonly url: string };

/** Serves a store with many episodes, and asks all routes while clients claim and end. */
export async function serveManyEpisodes(dir: string, episodes: number, report: Report): Promise<ManyEpisodes> {
  const store = path.join(dir, 'ledger');
  await copyFilled(episodes, store);
  report(`${episodes} episodes written`);
  const first = await start('serve', store);
  const requests = new Requests(1000);
  await postTasks(requests, first.url, 2000);
  await stop(first);
  const startedAt = performance.now();
  const server = await start('serve', store);
  await claim(requests, server.url);
  const startSeconds = (performance.now() - startedAt) / 1000;
  report(`first claim ${startSeconds.toFixed(1)} s after the start`);
  const idle = await start('idle');
  try {
    await play(requests, server.url, 64, 500); // warms up
    const over = await measureDelays(requests, server, idle);
    report(`longest delay over idle: ${over.toFixed(0)} ms`);
    const rates = { few: 0, many: 0 };
    for (let round = 0; round < 3; round++) {
      rates.few += await play(requests, server.url, 64, 2000);
      rates.many += await play(requests, server.url, 1000, 4000);
    }
    report(JSON.stringify(rates));
    return {
      episodes,
      longest_delay_over_idle_ms: Math.round(over),
      start_seconds: Math.round(10 * startSeconds) / 10,
      throughput_1000_over_64: Math.round((100 * rates.many) / rates.few) / 100,
    };
  } finally {
    requests.close();
    await stop(server);
    await stop(idle);
  }
}

/**
 * Copies a store with this many episodes to `target`. The store is written once and then kept. If writing it was
 * interrupted, it is continued.
 */
async function copyFilled(episodes: number, target: string): Promise<void> {
  const kept = path.join(root, 'node_modules/.cache/bench-limits', `${storeFormat}-${episodes}`);
  await mkdir(path.dirname(kept), { recursive: true });
  await stop(await start('fill', kept, String(episodes)));
  await cp(kept, target, { recursive: true, mode: constants.COPYFILE_FICLONE });
}

/** Returns the episodes per second of this many clients. Each client claims and ends episodes in a loop. */
async function play(requests: Requests, url: string, clients: number, count: number): Promise<number> {
  const startedAt = performance.now();
  const numbers = Array.from({ length: count }, (_none, index) => index);
  await inParallel(numbers, clients, async () => end(requests, url, await claim(requests, url)));
  return (1000 * count) / (performance.now() - startedAt);
}

const routes = [
  '/server',
  '/episodes?limit=1000',
  '/episodes?limit=1000&state=pooled',
  '/groups?state=open',
  '/groups?state=unscored',
  '/metrics',
  '/audit',
  '/clients',
  '/keys',
];

/**
 * Asks all routes, with five readers of all events, while 64 clients work. A checkpoint is saved meanwhile, and old
 * files of the store are removed.
 */
async function measureDelays(requests: Requests, server: Child, idle: Child): Promise<number> {
  await Promise.all([askDelay(server), askDelay(idle)]);
  const stopping = new AbortController();
  const readers = Array.from({ length: 5 }, () => readEvents(server.url, stopping.signal));
  const working = play(requests, server.url, 64, 4000);
  const { operation_id: order } = await requests.post(`${server.url}/swarm/v1/run/checkpoint`, {});
  for (let round = 0; round < 5; round++)
    for (const route of routes) await fetch(`${server.url}/swarm/v1${route}`).then((answer) => answer.arrayBuffer());
  await working;
  await untilDone(server, String(order));
  await sleep(100);
  const [served, rested] = await Promise.all([askDelay(server), askDelay(idle)]);
  stopping.abort();
  await Promise.all(readers);
  return Math.max(0, served - rested);
}

/** Waits until the checkpoint is saved and the old files of the store are removed. */
async function untilDone({ url }: Child, order: string): Promise<void> {
  for (const endMs = performance.now() + 120_000; performance.now() < endMs; await sleep(100)) {
    const { state } = (await (await fetch(`${url}/swarm/v1/operations/${order}`)).json()) as { readonly state: string };
    if (state === 'done') return;
  }
  throw new Error('The server did not save the checkpoint within two minutes.');
}

async function readEvents(url: string, signal: AbortSignal): Promise<void> {
  try {
    const answer = await fetch(`${url}/swarm/v1/events`, { headers: { 'last-event-id': '0' }, signal });
    for await (const _part of answer.body ?? []);
  } catch {
    // aborted
  }
}

async function askDelay({ child }: Child): Promise<number> {
  child.send('delay');
  const [{ longestMs }] = (await once(child, 'message')) as [{ readonly longestMs: number }];
  return longestMs;
}

async function start(...args: readonly string[]): Promise<Child> {
  const child = fork(path.join(import.meta.dirname, 'many-child.ts'), args, {
    execArgv: [...process.execArgv, ...nodeFlags],
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`The process "${args[0]}" ended.`)));
  ended.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [{ readonly url?: string }];
  return { child, url: message.url ?? '' };
}

async function stop({ child }: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
