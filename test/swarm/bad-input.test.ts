import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LmdbStore, type LmdbStoreOptions } from '@agentjet/ledger';
import { putMeta } from '@agentjet/ledger/testing';
import { SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { errorCodes, errorSchema } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/**
 * Sends bad requests, and damages stores. Each gets one of the known error codes, and afterwards the server still
 * reports everything that it had acknowledged before.
 */

let dir = '';
let trainer = createCountingTrainer();
let servers: SwarmServer[] = [];
let commander = '';
let ended = '';
let running = '';

const settings = { ...testSettings, rules: { ...testSettings.rules, batchSize: 50 }, numPlaces: 4 };

async function start(options: Partial<SwarmServerOptions> & { readonly store?: LmdbStoreOptions } = {}) {
  const { store, ...others } = options;
  const server = await SwarmServer.start({
    openStore: () => LmdbStore.open(path.join(dir, 'ledger'), { takeOver: true, ...store }),
    openTrainer: trainer.open,
    settings,
    app: { limits: { maxBytes: 4000, maxDepth: 32, maxMs: 200 } },
    ...others,
  });
  servers.push(server);
  commander = server.firstKey ?? commander;
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
  return server;
}

/** Starts a server with one acknowledged and one running episode. */
async function startUsed(options: Parameters<typeof start>[0] = {}): Promise<SwarmServer> {
  const server = await start(options);
  const tasks = [{ task_id: 't0', index: 0, hash: 'h' }];
  await send(server, 'POST', '/tasks', { body: { tasks, total: 1 } });
  ended = await claim(server, 'c1');
  running = await claim(server, 'c2');
  expect((await send(server, 'POST', `/episodes/${ended}/end`, { body: end })).status).toBe(200);
  return server;
}

async function claim(server: SwarmServer, claimId: string): Promise<string> {
  const body = { claim_id: claimId, client: 'me', life: 'one' };
  const answer = await send(server, 'POST', '/episodes', { body });
  return (answer.body['episodes'] as readonly { readonly episode_id: string }[])[0]?.episode_id ?? '';
}

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'bad-input-'));
  trainer = createCountingTrainer();
  servers = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(servers.map((server) => server.close()));
  rmSync(dir, { recursive: true, force: true });
});

type Sent = { readonly body?: unknown; readonly key?: string; readonly headers?: Readonly<Record<string, string>> };
type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

const end = { client: 'me', status: 'completed', reward: 0.5 };
const claimBody = { claim_id: 'c9', client: 'you', life: 'one' };

async function send({ url }: SwarmServer, method: string, route: string, sent: Sent = {}): Promise<Answer> {
  const { body, key = commander, headers = {} } = sent;
  const response = await fetch(`${url}/swarm/v1${route}`, {
    method,
    headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

function codeOf({ status, body }: Answer): readonly [number, string] {
  const { code } = errorSchema.parse(body).error;
  expect(errorCodes).toContain(code);
  return [status, code];
}

/** Returns the acknowledged and the running episodes, as the server reports them now. */
async function seen(server: SwarmServer): Promise<unknown> {
  const episodes = await Promise.all([ended, running].map((id) => send(server, 'GET', `/episodes/${id}`)));
  const rest = episodes.map(({ body: { seconds: _passes, ...body } }) => body);
  return [server.swarm?.describe().account, rest];
}

async function keyOf(server: SwarmServer, body: Readonly<Record<string, unknown>>): Promise<string> {
  return String((await send(server, 'POST', '/keys', { body })).body['key']);
}

type Case = readonly [
  what: string,
  method: string,
  route: string | (() => string),
  sent: Sent | ((server: SwarmServer) => Promise<Sent>),
  status: number,
  code: string,
];

const inOneDay = (): string => new Date(Date.now() + 86_400_000).toISOString();

const endOf = (): string => `/episodes/${running}/end`;

const cases: readonly Case[] = [
  ['a body that is not JSON', 'POST', '/episodes', { body: '{"claim_id": ' }, 400, 'invalid_json'],
  ['a body that is JSON, but not an object', 'POST', '/episodes', { body: '[]' }, 400, 'invalid_request'],
  ['a body that is too large', 'POST', endOf, { body: { ...end, error: 'x'.repeat(5000) } }, 413, 'too_large'],
  ['a body that is too deep', 'POST', endOf, { body: `{"metadata":${'['.repeat(100)}` }, 400, 'invalid_request'],
  ['an unknown route', 'POST', '/nothing', { body: {} }, 404, 'unknown_route'],
  ['an unknown method', 'PATCH', '/episodes', { body: {} }, 405, 'wrong_method'],
  ['an unknown field', 'POST', endOf, { body: { ...end, colour: 'red' } }, 400, 'invalid_request'],
  ['a missing key', 'POST', endOf, { body: end, key: '' }, 401, 'missing_key'],
  ['a wrong key', 'POST', endOf, { body: end, key: 'ajk_worker_00_11' }, 401, 'unknown_key'],
  [
    'an expired key',
    'POST',
    endOf,
    async (server) => {
      const key = await keyOf(server, { name: 'old', role: 'worker', expires_at: inOneDay() });
      vi.useFakeTimers({ toFake: ['Date'] });
      vi.setSystemTime(Date.now() + 2 * 86_400_000);
      return { body: end, key };
    },
    401,
    'expired_key',
  ],
  [
    'a key of another role',
    'POST',
    endOf,
    async (server) => ({ body: end, key: await keyOf(server, { name: 'eye', role: 'observer' }) }),
    403,
    'wrong_role',
  ],
  ['an end by another client', 'POST', endOf, { body: { ...end, client: 'you' } }, 403, 'foreign_episode'],
  ['an end of an episode that never was', 'POST', '/episodes/e0/end', { body: end }, 410, 'gone'],
  [
    'another end of an ended episode',
    'POST',
    () => `/episodes/${ended}/end`,
    { body: { ...end, reward: 1 } },
    409,
    'ended_differently',
  ],
  [
    'a reward that is not a number',
    'POST',
    endOf,
    { body: '{"client":"me","status":"completed","reward":NaN}' },
    400,
    'invalid_json',
  ],
  [
    'an infinite reward',
    'POST',
    endOf,
    { body: '{"client":"me","status":"completed","reward":1e999}' },
    400,
    'invalid_request',
  ],
  [
    'a reward of a target below all bounds',
    'POST',
    endOf,
    { body: '{"client":"me","status":"completed","rewards":{"a":-1e999}}' },
    400,
    'invalid_request',
  ],
  ...(
    [
      ['a reward', { reward: 1.7e308 }],
      ['a reward of a target', { rewards: { a: -1.7e308 } }],
      ['a reward of a turn', { turn_rewards: [{ agent: 'a', turn: 0, value: 1e13 }] }],
    ] as const
  ).map(
    ([what, more]): Case => [
      `${what} beyond what can be trained`,
      'POST',
      endOf,
      { body: { ...end, ...more } },
      400,
      'invalid_request',
    ],
  ),
  [
    'a score beyond what can be trained',
    'PUT',
    '/groups/g/rewards',
    async () => ({ body: { revision: 'r', replaces: null, rewards: [{ episode_id: ended, reward: 1.7e308 }] } }),
    400,
    'invalid_request',
  ],
  [
    'a reward out of the bounds of its key',
    'POST',
    endOf,
    async (server) => ({
      body: { ...end, reward: 2 },
      key: await keyOf(server, { name: 'lab', role: 'worker', reward_bounds: [0, 1] }),
    }),
    422,
    'reward_out_of_bounds',
  ],
  ...(
    [
      ['a heartbeat', 'one', {}],
      ['the leave', 'one', { leaving: true }],
      ['a heartbeat of another life', 'two', {}],
      ['the leave of another life', 'two', { leaving: true }],
    ] as const
  ).map(([what, life, more]): Case => {
    const sent = async (server: SwarmServer): Promise<Sent> => ({
      body: { client: 'me', life, episodes: [running], ...more },
      key: await keyOf(server, { name: 'lab', role: 'worker' }),
    });
    return [`${what} of a client, with another key`, 'POST', '/heartbeats', sent, 409, 'name_taken'];
  }),
  [
    'a claim by a client of another key',
    'POST',
    '/episodes',
    async (server) => ({
      body: { ...claimBody, client: 'me' },
      key: await keyOf(server, { name: 'lab', role: 'worker' }),
    }),
    409,
    'name_taken',
  ],
  [
    'the claim id of another client',
    'POST',
    '/episodes',
    { body: { ...claimBody, claim_id: 'c2' } },
    403,
    'foreign_episode',
  ],
  [
    'the claim id of another key',
    'POST',
    '/episodes',
    async (server) => ({
      body: { ...claimBody, claim_id: 'c2' },
      key: await keyOf(server, { name: 'lab', role: 'worker' }),
    }),
    403,
    'foreign_episode',
  ],
  [
    'a claim for an unknown share',
    'POST',
    '/episodes',
    { body: { ...claimBody, can: ['nothing'] } },
    404,
    'unknown_share',
  ],
  [
    'a client of another wire',
    'POST',
    '/episodes',
    { body: claimBody, headers: { 'x-ajet-wire': '9' } },
    400,
    'wire_version',
  ],
  [
    'a packed body',
    'POST',
    endOf,
    { body: '{}', headers: { 'content-encoding': 'gzip' } },
    415,
    'unsupported_media_type',
  ],
];

it.each(cases)('%s gets its code and touches nothing', async (_what, method, route, given, status, code) => {
  const server = await startUsed();
  const sent = typeof given === 'function' ? await given(server) : given;
  const before = await seen(server);
  const path = typeof route === 'function' ? route() : route;
  expect(codeOf(await send(server, method, path, sent))).toEqual([status, code]);
  expect(await seen(server)).toEqual(before);
});

it('an end of a dropped episode says why it was dropped, and touches nothing', async () => {
  const server = await startUsed();
  await send(server, 'POST', `/episodes/${running}/abandon`, { body: { client: 'me' } });
  const before = await seen(server);
  const answer = await send(server, 'POST', endOf(), { body: end });
  expect(codeOf(answer)).toEqual([410, 'gone']);
  expect(answer.body).toMatchObject({ error: { details: { reason: 'abandoned' } } });
  expect(await seen(server)).toEqual(before);
});

it('a body that does not come is given up, and one that breaks off ends nothing', async () => {
  const server = await startUsed();
  const before = await seen(server);
  const { port } = new URL(server.url);
  const sendPart = async (breaks: boolean): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    const head = `POST /swarm/v1${endOf()} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${commander}\r\ncontent-length: 60\r\n\r\n{"client"`;
    const whole = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.once('close', () => resolve(text));
    });
    socket.write(head, () => {
      if (breaks) socket.destroy();
    });
    return whole;
  };
  expect(await sendPart(false)).toMatch(/^HTTP\/1\.1 408 [^]*"slow_body"/);
  await sendPart(true);
  expect(await seen(server)).toEqual(before);
});

it('a request without a valid key is answered before its body is read', async () => {
  const server = await startUsed();
  const { port } = new URL(server.url);
  for (const route of ['/swarm/v1/tasks', '/e/e1/main/v1/chat/completions']) {
    const socket = connect(Number(port), '127.0.0.1');
    const answer = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
    socket.write(`POST ${route} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n{`);
    expect(await answer).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/i);
    socket.destroy();
  }
});

it('a second server on the store of a living one is refused', async () => {
  const server = await startUsed();
  const before = await seen(server);
  // The parent process, which is alive, owns the store.
  const { hostname } = await import('node:os');
  vi.spyOn(process, 'pid', 'get').mockReturnValue(process.ppid);
  const store = await LmdbStore.open(path.join(dir, 'other'));
  await store.takeOver();
  vi.restoreAllMocks();
  await store.close();
  await expect(start({ openStore: () => LmdbStore.open(path.join(dir, 'other')) })).rejects.toMatchObject({
    code: 'owned',
    message: expect.stringContaining(`process ${process.ppid} on ${hostname()}`),
  });
  expect(await seen(server)).toEqual(before);
});

it('a server whose store was taken over refuses, and the new one has what was acknowledged', async () => {
  const first = await startUsed();
  const second = await start();
  expect(codeOf(await send(first, 'POST', '/episodes/e0/end', { body: end }))).toEqual([503, 'not_owner']);
  expect((await send(second, 'POST', `/episodes/${ended}/end`, { body: end })).body).toMatchObject({ state: 'pooled' });
  expect(second.swarm?.describe().account).toMatchObject({ acknowledged: 1 });
});

it('a long list of groups comes in pages', async () => {
  const server = await start({ settings: { ...settings, numPlaces: 1 } });
  const tasks = [0, 1, 2].map((index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await send(server, 'POST', '/tasks', { body: { tasks, total: 3 } });
  for (const id of ['c1', 'c2', 'c3']) await claim(server, id);
  const first = (await send(server, 'GET', '/groups?limit=2')).body;
  const second = (await send(server, 'GET', `/groups?limit=2&after=${String(first['next'])}`)).body;
  const found = [first, second].map(({ groups }) => (groups as readonly { readonly task_id: string }[]).length);
  expect([found, second['next']]).toEqual([[2, 1], undefined]);
});

/** Takes over the store, as a server in another process would. */
async function takeOverElsewhere(): Promise<void> {
  vi.spyOn(process, 'pid', 'get').mockReturnValue(process.ppid);
  const store = await LmdbStore.open(path.join(dir, 'ledger'), { takeOver: true });
  await store.takeOver();
  vi.restoreAllMocks();
  await store.close();
}

it('a server that was taken over while it makes a step ends soon and frees its port', async () => {
  const { open } = createCountingTrainer();
  let isWorking = false;
  const openTrainer = async () => ({
    ...(await open()),
    optimize: () => new Promise<never>(() => void (isWorking = true)),
  });
  const rules = { ...settings.rules, batchSize: 1 };
  const first = await startUsed({ openTrainer, settings: { ...settings, rules, numPlaces: 1 }, stepPatienceMs: 10 });
  await expect.poll(() => isWorking).toBe(true);
  await takeOverElsewhere();
  const key = { name: 'k', role: 'observer' };
  expect(codeOf(await send(first, 'POST', '/keys', { body: key }))).toEqual([503, 'not_owner']);
  expect((await first.deposed).code).toBe('not_owner');
  await first.close();
  await expect(fetch(`${first.url}/swarm/v1/healthz`)).rejects.toThrow('fetch failed');
});

it('a server whose model fails after it was taken over ends, and does not take the store back', async () => {
  const { open } = createCountingTrainer();
  let isTaken = false;
  const check = (): void => {
    if (isTaken) throw new Error('Another process writes this run.');
  };
  const server = await startUsed({ openTrainer: async () => ({ ...(await open()), check }) });
  await takeOverElsewhere();
  isTaken = true;
  expect((await server.deposed).code).toBe('not_owner');
});

it('a full disk of the run folder stops training until there is room, and ends are accepted meanwhile', async () => {
  const { open, counts } = createCountingTrainer();
  let isFull = true;
  const record = async (): Promise<void> => {
    if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  };
  const server = await startUsed({
    openTrainer: async () => ({ ...(await open()), record }),
    runDisk: { problemOf: (error) => `full: ${String(error)}`, hasRoom: () => !isFull },
    settings: { ...settings, numPlaces: 1, rules: { ...settings.rules, batchSize: 1, maxStaleness: 10 } },
  });
  await expect.poll(() => server.swarm?.describe().waits_for?.reason).toBe('disk');
  const next = await claim(server, 'c3');
  expect((await send(server, 'POST', `/episodes/${next}/end`, { body: end })).body).toMatchObject({ state: 'pooled' });
  isFull = false;
  await expect.poll(() => counts().size).toBe(2);
});

/** Returns the file of a store whose server is closed. */
async function stopUsed(): Promise<string> {
  const server = await startUsed();
  await server.close();
  return path.join(dir, 'ledger', '000000.mdb');
}

it('a store of another format is refused, and opened again by the version that wrote it', async () => {
  const file = await stopUsed();
  for (const other of ['agentjet-ledger-99', 'agentjet-ledger-1']) {
    await putMeta(file, 'format', other);
    await expect(start()).rejects.toMatchObject({ code: 'other_format' });
  }
  await putMeta(file, 'format', 'agentjet-ledger-8');
  expect((await start()).swarm?.describe().account).toMatchObject({ acknowledged: 1 });
});

it.each([16_000, 9_000, 500])('a store that was cut to %s bytes is refused as damaged', async (bytes) => {
  const file = await stopUsed();
  truncateSync(file, bytes);
  await expect(start()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining(file) });
});

it('on a full disk ends are taken, and neither claims nor calls', async () => {
  await (await startUsed()).close();
  const server = await start({ store: { minFreeBytes: 2 ** 60 } });
  expect((await send(server, 'POST', '/episodes', { body: claimBody })).body).toMatchObject({ reason: 'store_full' });
  await expect(server.swarm?.call(running, 'r', async () => ({}))).rejects.toMatchObject({ code: 'store_full' });
  expect((await send(server, 'POST', endOf(), { body: end })).body).toMatchObject({ state: 'pooled' });
  expect(server.swarm?.describe().account).toMatchObject({ acknowledged: 2 });
});

it('a store on a network file system is refused', async () => {
  await (await startUsed()).close();
  await expect(start({ store: { fileSystemType: () => 0x6969 } })).rejects.toMatchObject({ code: 'file_system' });
  expect((await start()).swarm?.describe().account).toMatchObject({ acknowledged: 1 });
});

it('a clock that jumps forth and back ends no lease and loses no end', async () => {
  const server = await startUsed();
  const before = await seen(server);
  vi.useFakeTimers({ toFake: ['Date'] });
  for (const days of [365, -365]) {
    vi.setSystemTime(Date.now() + days * 86_400_000);
    const beat = { client: 'me', life: 'one', episodes: [running] };
    expect((await send(server, 'POST', '/heartbeats', { body: beat })).body).toEqual({ renewed: [running], gone: [] });
    expect(await seen(server)).toEqual(before);
  }
  expect((await send(server, 'POST', endOf(), { body: end })).body).toMatchObject({ state: 'pooled' });
});
