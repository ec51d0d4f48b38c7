import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryStore } from '@agentjet/ledger/testing';
import type { SwarmServer, SwarmServerOptions } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/**
 * If a client has sent an end, it gets its receipt, even if the server stops or opens its model again at the same time.
 */

let servers = new MemoryServers();

/** Uses a disk that is slow to sync. */
async function start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
  const faults = { wait: (operation: string): Promise<unknown> => sleep(operation === 'sync' ? 100 : 0) };
  const slow = { faults: faults as { readonly wait: () => Promise<void> } };
  const server = await servers.start({
    openStore: async () => new MemoryStore(servers.disk, slow),
    app: { needsKey: false },
    ...options,
  });
  const tasks = [0, 1, 2, 3].map((index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await post(server, '/tasks', { tasks, total: 4 });
  return server;
}

beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(() => servers.close());

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

async function post({ url }: SwarmServer, route: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/swarm/v1${route}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function claim(server: SwarmServer, claimId: string): Promise<string> {
  const { body } = await post(server, '/episodes', { claim_id: claimId, client: 'me', life: '1' });
  return (body['episodes'] as readonly { readonly episode_id: string }[])[0]?.episode_id ?? '';
}

const end = (server: SwarmServer, id: string, reward: number): Promise<Answer> =>
  post(server, `/episodes/${id}/end`, { client: 'me', status: 'completed', reward });

const receipt = { status: 200, body: { state: 'pooled' } };

it('gives the last running episode its receipt before the server stops', async () => {
  const server = await start();
  const id = await claim(server, 'c');
  const finished = server.finish(30_000);
  const ended = end(server, id, 1);
  await finished;
  await server.close();
  expect(await ended).toMatchObject(receipt);
});

it('gives an end its receipt if the server stops at once', async () => {
  const server = await start();
  const id = await claim(server, 'c');
  const ended = end(server, id, 1);
  await expect.poll(() => server.swarm?.context.ledger.numRunning).toBe(0);
  await server.close();
  expect(await ended).toMatchObject(receipt);
});

it('gives an end its receipt while a model that failed is about to be opened again', async () => {
  let fail: (() => void) | undefined;
  const openTrainer = async () => {
    const opened = await servers.trainer.open();
    const optimize: typeof opened.optimize = (...step) =>
      fail === undefined
        ? new Promise((_resolve, reject) => (fail = () => reject(new Error('the device is gone'))))
        : opened.optimize(...step);
    return { ...opened, optimize };
  };
  const rules = { ...testSettings.rules, oversubscribe: 2, maxStaleness: 1 };
  const server = await start({ openTrainer, settings: { ...testSettings, rules } });
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push(await claim(server, name));
  const [last = ''] = ids.splice(4);
  await Promise.all(ids.map((id, index) => end(server, id, index % 2)));
  await expect.poll(() => fail).toBeDefined();
  const ended = end(server, last, 1);
  await expect.poll(() => server.swarm?.context.ledger.state.episodes.get(last)?.state).toBe('pooled');
  fail?.();
  expect(await ended).toMatchObject(receipt);
});

it('asks a waiting claim to come again, if the server stops', async () => {
  const server = await start();
  for (const name of ['a', 'b', 'c', 'd']) await claim(server, name);
  const waiting = post(server, '/episodes', { claim_id: 'e', client: 'me', life: '1', wait_seconds: 20 });
  await sleep(100); // the claim must arrive before the server closes, because later the connection would be refused
  await server.close();
  expect(await waiting).toMatchObject({
    status: 503,
    body: { error: { code: 'not_ready', retry_after_ms: expect.any(Number) } },
  });
});
