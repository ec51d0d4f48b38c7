import { SwarmClient } from '@agentjet/swarm-client';
import type { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** A client's name belongs to its key as long as the client sends requests or its episodes run. */

let servers = new MemoryServers();
let commander = '';

async function start(aliveMs = 0): Promise<SwarmServer> {
  const server = await servers.start({ settings: { ...testSettings, aliveMs } });
  commander = server.firstKey ?? commander;
  return server;
}

beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(() => servers.close());

type Body = Readonly<Record<string, unknown>>;

async function post({ url }: SwarmServer, route: string, body: Body, key = commander): Promise<Body> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/swarm/v1${route}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as Body;
}

async function startWithKeys(aliveMs?: number) {
  const server = await start(aliveMs);
  const tasks = [0, 1, 2, 3].map((index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await post(server, '/tasks', { tasks, total: 4 });
  const keyOf = async (name: string): Promise<string> =>
    String((await post(server, '/keys', { name, role: 'worker' }))['key']);
  return { server, w1: await keyOf('w1'), w2: await keyOf('w2') };
}

const claimOf = (claimId: string, life: string, client = 'alice') => ({ claim_id: claimId, client, life });

async function claim(server: SwarmServer, claimId: string, { life, key }: Record<'life' | 'key', string>) {
  const { episodes } = await post(server, '/episodes', claimOf(claimId, life), key);
  return (episodes as readonly { readonly episode_id: string; readonly key: string }[])[0]?.episode_id ?? '';
}

const beat = (life: string, more: Body = {}): Body => ({ client: 'alice', life, episodes: [], ...more });
const isTaken = { error: { code: 'name_taken', message: expect.stringContaining('in use with another key') } };
const stateOf = ({ swarm }: SwarmServer, id: string) => swarm?.context.ledger.state.episodes.get(id)?.state;

it('lets no other worker key renew, leave or follow a client whose episodes run, though it is silent', async () => {
  const { server, w1, w2 } = await startWithKeys();
  const id = await claim(server, 'c1', { life: '1', key: w1 });
  for (const body of [beat('1', { episodes: [id] }), beat('1', { leaving: true }), beat('2')])
    expect(await post(server, '/heartbeats', body, w2)).toMatchObject(isTaken);
  expect(await post(server, '/episodes', claimOf('c2', '2'), w2)).toMatchObject(isTaken);
  expect(stateOf(server, id)).toBe('running');
});

it('takes no claim id that could be one of the further episodes of another claim', async () => {
  const { server, w1 } = await startWithKeys();
  const claimed = await post(server, '/episodes', { ...claimOf('c', '1'), count: 2 }, w1);
  expect(claimed['episodes']).toHaveLength(2);
  const error = { code: 'invalid_request', message: expect.stringContaining('claim_id') as unknown };
  expect(await post(server, '/episodes', claimOf('c#1', '1'), w1)).toMatchObject({ error });
});

it('keeps names after a restart of the server, and lets a program with the same key continue', async () => {
  const { server: first, w1, w2 } = await startWithKeys();
  const id = await claim(first, 'c1', { life: '1', key: w1 });
  await first.close();
  const server = await start();
  for (const life of ['1', '2']) expect(await post(server, '/heartbeats', beat(life), w2)).toMatchObject(isTaken);
  expect(await post(server, '/heartbeats', beat('1', { episodes: [id] }), w1)).toEqual({ renewed: [id], gone: [] });
  const next = await claim(server, 'c2', { life: '2', key: w1 });
  expect([stateOf(server, id), stateOf(server, next)]).toEqual(['dropped', 'running']);
});

it('gives a name to another key once its client has left', async () => {
  const { server, w1, w2 } = await startWithKeys(60_000);
  await claim(server, 'c1', { life: '1', key: w1 });
  expect(await post(server, '/heartbeats', beat('2'), w2)).toMatchObject(isTaken);
  await post(server, '/heartbeats', beat('1', { leaving: true }), w1);
  const id = await claim(server, 'c2', { life: '2', key: w2 });
  expect(stateOf(server, id)).toBe('running');
  expect(await post(server, '/heartbeats', beat('3'), w1)).toMatchObject(isTaken);
});

it('lets a client without episodes keep its name while its claim waits for a place', async () => {
  const { server, w1, w2 } = await startWithKeys();
  await post(server, '/run/pause', {});
  const waiting = post(server, '/episodes', { ...claimOf('c1', '1'), wait_seconds: 30 }, w1);
  await expect.poll(() => server.swarm?.context.lives.isOf('alice', 'w1')).toBe(true);
  expect(await post(server, '/heartbeats', beat('1'), w2)).toMatchObject(isTaken);
  await post(server, '/run/resume', {});
  expect(await waiting).toMatchObject({ episodes: [{ task_id: expect.any(String) }] });
});

it("lets a commander's key speak for every client, and keeps the client's key", async () => {
  const { server, w1 } = await startWithKeys();
  const id = await claim(server, 'c1', { life: '1', key: w1 });
  expect(await post(server, '/heartbeats', beat('1', { episodes: [id] }))).toEqual({ renewed: [id], gone: [] });
  expect(await post(server, '/heartbeats', beat('1', { episodes: [id] }), w1)).toEqual({ renewed: [id], gone: [] });
  const gone = [{ episode_id: id, reason: 'abandoned' }];
  expect(await post(server, '/heartbeats', beat('1', { leaving: true }))).toEqual({ renewed: [], gone });
});

it('gives an episode and its key to nobody who repeats the claim id of another key or client', async () => {
  const { server, w1, w2 } = await startWithKeys();
  const id = await claim(server, 'c1', { life: '1', key: w1 });
  const refused = { error: { code: 'foreign_episode', message: expect.stringContaining('Choose a new random id') } };
  expect(await post(server, '/episodes', claimOf('c1', '1', 'bob'), w2)).toMatchObject(refused);
  expect(await post(server, '/episodes', claimOf('c1', '1', 'bob'), w1)).toMatchObject(refused);
  expect(await claim(server, 'c1', { life: '1', key: w1 })).toBe(id);
});

it('a key over its limits gets a named error with a time to wait, and a client waits for it', async () => {
  const { server } = await startWithKeys();
  const limits = { requests_per_second: 10, metadata_bytes: 20, metric_names: 1, event_streams: 1 };
  const key = String((await post(server, '/keys', { name: 'lab', role: 'worker', limits }))['key']);
  const id = await claim(server, 'c1', { life: '1', key });
  const ends = (more: Body): Promise<Body> =>
    post(server, `/episodes/${id}/end`, { client: 'alice', status: 'completed', reward: 1, ...more }, key);
  expect(await ends({ metadata: { text: 'x'.repeat(30) } })).toMatchObject({ error: { code: 'metadata_too_large' } });
  expect(await ends({ log_metrics: { a: 1, b: 2 } })).toMatchObject({ error: { code: 'too_many_metrics' } });
  const headers = { authorization: `Bearer ${key}` };
  const stream = await fetch(`${server.url}/swarm/v1/events`, { headers });
  const second = await fetch(`${server.url}/swarm/v1/events`, { headers });
  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '5']);
  await stream.body?.cancel();
  await expect.poll(async () => (await fetch(`${server.url}/swarm/v1/events`, { headers })).status).toBe(200);
  let refusal: Body = {};
  while (refusal['error'] === undefined) refusal = await post(server, '/heartbeats', beat('1'), key);
  expect(refusal).toMatchObject({ error: { code: 'too_many_requests', retry_after_ms: expect.any(Number) } });
  const client = new SwarmClient({ url: server.url, key, client: 'alice' });
  const tasks = [{ taskId: 'new', mainQuery: 'q' }]; // these tasks replace the tasks of the run
  const { completed, reason } = await client.run(async () => ({ reward: 1 }), { parallel: 1, tasks });
  expect([completed > 0, reason]).toEqual([true, 'no_task']);
});

it('ends the waiting claims and the event streams of a key that is deleted', async () => {
  const { server, w1 } = await startWithKeys();
  await fetch(`${server.url}/swarm/v1/run/pause`, {
    method: 'POST',
    headers: { authorization: `Bearer ${commander}` },
  });
  const waiting = post(server, '/episodes', { ...claimOf('c1', '1'), wait_seconds: 30 }, w1);
  const stream = await fetch(`${server.url}/swarm/v1/events`, { headers: { authorization: `Bearer ${w1}` } });
  await expect.poll(async () => (await clientsOf(server))[0]?.claims_waiting).toBe(1);
  const headers = { authorization: `Bearer ${commander}` };
  await fetch(`${server.url}/swarm/v1/keys/w1`, { method: 'DELETE', headers });
  await fetch(`${server.url}/swarm/v1/run/resume`, { method: 'POST', headers });
  expect(await waiting).toMatchObject({ error: { code: 'unknown_key' } });
  await stream.text(); // ends
  expect(server.swarm?.context.ledger.numRunning).toBe(0);
});

async function clientsOf({ url }: SwarmServer): Promise<readonly { readonly claims_waiting: number }[]> {
  const answer = await fetch(`${url}/swarm/v1/clients`, { headers: { authorization: `Bearer ${commander}` } });
  return ((await answer.json()) as { readonly clients: readonly { readonly claims_waiting: number }[] }).clients;
}
