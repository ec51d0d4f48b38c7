import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { unpackTurns, type PackedTurns } from '@agentjet/context-tracker';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { SwarmServer, type SwarmModel, type SwarmServerOptions } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSteadyModel } from '../bench/swarm/steady-run.js';

/**
 * What happens to the calls and the memory of running episodes: while the server recovers, over a restart, and when
 * they are idle.
 */

let disk = new MemoryDisk();
let dir = '';
let servers: SwarmServer[] = [];
let numRuns = 0;

async function start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
  const server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openModel: (records) => openSteadyModel(dir, records),
    settings: { ...testSettings, rules: { ...testSettings.rules, batchSize: 100 }, maxSteps: 100 },
    app: { needsKey: false },
    ...options,
  });
  servers.push(server);
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
  return server;
}

beforeEach(() => {
  disk = new MemoryDisk();
  dir = mkdtempSync(path.join(tmpdir(), 'running-episodes-'));
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  rmSync(dir, { recursive: true, force: true });
});

type Claimed = { readonly episode_id: string; readonly base_url: string; readonly key: string };

async function post(url: string, body: unknown, key = ''): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function claim({ url }: SwarmServer): Promise<Claimed> {
  await post(`${url}/swarm/v1/tasks`, { tasks: [{ task_id: 't', index: 0, hash: 'h' }], total: 1 });
  const body = { claim_id: `c${numRuns++}`, client: 'me', life: 'one' };
  const answer = (await (await post(`${url}/swarm/v1/episodes`, body)).json()) as {
    readonly episodes: readonly Claimed[];
  };
  const [episode] = answer.episodes;
  if (episode === undefined) throw new Error(`No episode: ${JSON.stringify(answer)}`);
  return episode;
}

const ask = ({ base_url, key }: Claimed): Promise<Response> =>
  post(`${base_url}/main/v1/chat/completions`, { model: 'm', messages: [{ role: 'user', content: 'hello' }] }, key);

type Ended = { readonly turns: PackedTurns };

function turnsOf({ swarm }: SwarmServer, { episode_id }: Claimed): readonly object[] {
  const content = swarm?.context.records.end(episode_id)?.content as Ended | undefined;
  return content === undefined ? [] : unpackTurns(content.turns);
}

const clientOf = ({ base_url, key }: Claimed): OpenAI =>
  new OpenAI({ baseURL: `${base_url}/main/v1`, apiKey: key, maxRetries: 0 });

it('holds calls while the server folds its store again, and refuses wrong keys meanwhile', async () => {
  let isBroken = false;
  const faults = { fails: (operation: string): boolean => operation === 'sync' && isBroken };
  const notices: string[] = [];
  const server = await start({
    openStore: async () => new MemoryStore(disk, { faults }),
    onNotice: (notice) => notices.push(notice),
  });
  const episode = await claim(server);
  isBroken = true;
  const end = { client: 'me', status: 'completed', reward: 1 };
  const other = await claim(server);
  expect((await post(`${server.url}/swarm/v1/episodes/${other.episode_id}/end`, end)).status).toBe(507);
  await expect.poll(() => notices.length).toBeGreaterThan(1); // reopening it failed too
  const held = ask(episode);
  expect((await ask({ ...episode, key: other.key })).status).toBe(401);
  isBroken = false;
  const answer = await held;
  expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }]);
});

it('lets calls go that wait for a server which stops', async () => {
  let isBroken = false;
  const faults = { fails: (operation: string): boolean => operation === 'sync' && isBroken };
  const notices: string[] = [];
  const server = await start({
    openStore: async () => new MemoryStore(disk, { faults }),
    onNotice: (notice) => notices.push(notice),
  });
  const episode = await claim(server);
  isBroken = true;
  const end = { client: 'me', status: 'completed', reward: 1 };
  await post(`${server.url}/swarm/v1/episodes/${episode.episode_id}/end`, end);
  await expect.poll(() => notices.length).toBeGreaterThan(1);
  const held = ask(episode).then(
    ({ status }) => status,
    () => 'cut',
  );
  await server.close();
  expect([503, 'cut']).toContain(await held);
});

it('continues from stored responses and their items after a restart', async () => {
  const first = await start();
  const episode = await claim(first);
  const before = await clientOf(episode).responses.create({ model: 'm', input: 'hello' });
  const second = await clientOf(episode).responses.create({
    model: 'm',
    input: 'and?',
    previous_response_id: before.id,
  });
  await first.close();
  const server = await start();
  const again = { ...episode, base_url: episode.base_url.replace(first.url, server.url) };
  const after = await clientOf(again).responses.create({ model: 'm', input: 'then?', previous_response_id: second.id });
  expect(after.status).toBe('completed');
  const item = { type: 'item_reference' as const, id: second.output[0]?.id ?? '' };
  expect((await clientOf(again).responses.create({ model: 'm', input: [item] })).status).toBe('completed');
  await post(`${server.url}/swarm/v1/episodes/${episode.episode_id}/end`, {
    client: 'me',
    status: 'completed',
    reward: 1,
  });
  const turns = turnsOf(server, episode);
  expect(turns.slice(0, 3)).toMatchObject([{ fork: null }, { fork: null }, { fork: null }]);
});

it('puts the trackers of idle episodes away, and builds them again when they are called', async () => {
  let numOpen = (): number => 0;
  const server = await start({
    openModel: async (records) => {
      const model = await openSteadyModel(dir, records, { idleMs: 0 });
      numOpen = () => model.episodes.numOpen;
      return model;
    },
  });
  const [one, other] = [await claim(server), await claim(server)];
  for (const episode of [one, other, one, other]) expect((await ask(episode)).status).toBe(200);
  expect(numOpen()).toBeLessThan(2);
  const stored = await clientOf(one).responses.create({ model: 'm', input: 'hello' });
  await ask(other);
  const next = await clientOf(one).responses.create({ model: 'm', input: 'and?', previous_response_id: stored.id });
  expect(next.status).toBe('completed');
  await post(`${server.url}/swarm/v1/episodes/${one.episode_id}/end`, { client: 'me', status: 'completed', reward: 1 });
  const turns = turnsOf(server, one);
  expect(turns).toHaveLength(4);
});

it('drops an episode whose recorded calls no longer give the same prompts, and says so', async () => {
  let isChanged = false;
  const server = await start({
    openModel: (records) => {
      const calls: typeof records.calls = (episodeId) =>
        records
          .calls(episodeId)
          .map((call) => (isChanged ? { ...call, content: { ...(call.content as object), promptHash: '' } } : call));
      const changed = { calls, memos: (episodeId: string) => records.memos(episodeId) } as typeof records;
      return openSteadyModel(dir, changed, { idleMs: 0 });
    },
  });
  const [one, other] = [await claim(server), await claim(server)];
  for (const episode of [one, other]) expect((await ask(episode)).status).toBe(200);
  isChanged = true;
  for (let time = 0; time < 2; time++) {
    const answer = await ask(one);
    expect([answer.status, await answer.json()]).toMatchObject([410, { error: { code: 'episode_ended' } }]);
  }
  const found = await fetch(`${server.url}/swarm/v1/episodes/${one.episode_id}`);
  expect(await found.json()).toMatchObject({ state: 'dropped', reason: 'replay_mismatch' });
});

it('refuses a call that found its session before its episode ended, and makes nothing of it', async () => {
  let model: SwarmModel | undefined;
  const openModel: SwarmServerOptions['openModel'] = async (records) => (model = await openSteadyModel(dir, records));
  const server = await start({ openModel });
  const episode = await claim(server);
  expect((await ask(episode)).status).toBe(200);
  const session = model?.episodes.sessionOf(episode.episode_id, { agentName: 'main', targetTag: 'main' });
  const end = { client: 'me', status: 'completed', reward: 1 };
  expect((await post(`${server.url}/swarm/v1/episodes/${episode.episode_id}/end`, end)).status).toBe(200);
  const late = session?.model.generate({ messages: [{ role: 'user', content: 'late' }] });
  await expect(late).rejects.toMatchObject({ status: 410, code: 'episode_ended' });
  expect(model?.episodes.numOpen).toBe(0);
  expect(turnsOf(server, episode)).toHaveLength(1);
});

it('ends an episode that runs for longer than it may, as a failure of its agent', async () => {
  const server = await start({ settings: { ...testSettings, episodeTimeoutMs: 50, aliveMs: 0 } });
  const { episode_id } = await claim(server);
  const find = async (): Promise<unknown> => (await fetch(`${server.url}/swarm/v1/episodes/${episode_id}`)).json();
  await expect.poll(find).toMatchObject({ state: 'dropped', reason: 'failed' });
  const end = { client: 'me', status: 'completed', reward: 1 };
  const late = await post(`${server.url}/swarm/v1/episodes/${episode_id}/end`, end);
  expect([late.status, await late.json()]).toMatchObject([409, { error: { code: 'ended_differently' } }]);
});
