import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '@agentjet/ledger';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { createHttpTransport, systemClientHost, Worker } from '@agentjet/swarm-client';
import { SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { errorSchema } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let disk = new MemoryDisk();
let trainer = createCountingTrainer();
let servers: SwarmServer[] = [];
let commander = '';

async function start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
  const server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openTrainer: trainer.open,
    settings: testSettings,
    ...options,
  });
  servers.push(server);
  commander = server.firstKey ?? commander;
  return server;
}

beforeEach(() => {
  disk = new MemoryDisk();
  trainer = createCountingTrainer();
  servers = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(servers.map((server) => server.close()));
});

type Sent = {
  readonly method?: string;
  readonly body?: unknown;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
};
type Answer = { readonly status: number; readonly headers: Headers; readonly body: Readonly<Record<string, unknown>> };

async function send({ url }: SwarmServer, path: string, sent: Sent = {}): Promise<Answer> {
  const { method = 'POST', body, key = commander, headers = {} } = sent;
  const response = await fetch(`${url}/swarm/v1${path}`, {
    method,
    headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] };
}

const codeOf = ({ body }: Answer): string => errorSchema.parse(body).error.code;

async function postTasks(server: SwarmServer, count: number): Promise<Answer> {
  const tasks = Array.from({ length: count }, (_none, index) => ({
    task_id: `t${index}`,
    index,
    hash: `h${index}`,
    task: { task_id: `t${index}`, main_query: `What is ${index}?` },
  }));
  return send(server, '/tasks', { body: { tasks, total: count } });
}

const claim = { claim_id: 'c', client: 'me', life: 'one' };

async function claimOne(server: SwarmServer, claimId = 'c'): Promise<string> {
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
  const { body } = await send(server, '/episodes', { body: { ...claim, claim_id: claimId } });
  return (body['episodes'] as readonly { readonly episode_id: string }[])[0]?.episode_id ?? '';
}

describe('an episode', () => {
  it('is claimed with its task, kept alive, ended and trained once', async () => {
    const server = await start();
    expect((await postTasks(server, 3)).body).toEqual({ added: 3, known: 0, total: 3 });
    expect((await postTasks(server, 3)).body).toEqual({ added: 0, known: 3, total: 3 });
    await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
    const worker = createWorker(server);
    await worker.run();
    const { account, step } = server.swarm?.describe() ?? {};
    expect(account).toMatchObject({ acknowledged: 12, trained: 12, dropped: 0 });
    expect(step).toBe(3);
    expect([...trainer.counts().values()]).toEqual(Array.from({ length: 12 }, () => 1));
  });

  it('has its task, and one answer however often it is claimed and ended', async () => {
    const server = await start();
    await postTasks(server, 1);
    const id = await claimOne(server);
    const again = await send(server, '/episodes', { body: claim });
    expect(again.status).toBe(201);
    expect(again.body['episodes']).toMatchObject([
      { episode_id: id, task_id: 't0', task: { main_query: 'What is 0?' }, place: 0, attempt: 0 },
    ]);
    expect(
      (await send(server, '/heartbeats', { body: { client: 'me', life: 'one', episodes: [id, 'other'] } })).body,
    ).toEqual({
      renewed: [id],
      gone: [{ episode_id: 'other', reason: 'machine_restarted' }],
    });
    const end = { client: 'me', status: 'completed', reward: 0.5 };
    const receipt = { episode_id: id, status: 'completed', state: 'pooled' };
    expect((await send(server, `/episodes/${id}/end`, { body: end })).body).toEqual(receipt);
    expect((await send(server, `/episodes/${id}/end`, { body: end })).body).toEqual(receipt);
    const other = await send(server, `/episodes/${id}/end`, { body: { ...end, reward: 1 } });
    expect([other.status, codeOf(other)]).toEqual([409, 'ended_differently']);
    expect((await send(server, `/episodes/${id}`, { method: 'GET' })).body).toMatchObject({
      state: 'pooled',
      reward: 0.5,
    });
  });

  it('is not given to a claim that still waits although its client has left and come again', async () => {
    const server = await start();
    await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
    await postTasks(server, 1);
    const other = { client: 'other', life: 'one' };
    await send(server, '/episodes', { body: { ...other, claim_id: 'o', count: 4 } });
    const waiting = send(server, '/episodes', { body: { ...claim, wait_seconds: 20 } });
    await sleep(100); // the claim must arrive before the server closes, because later it would be refused in any case
    const [left, again] = [
      { client: 'me', life: 'one', episodes: [], leaving: true },
      { client: 'me', life: 'two', episodes: [] },
    ];
    expect((await send(server, '/heartbeats', { body: left })).status).toBe(200);
    expect((await send(server, '/heartbeats', { body: again })).status).toBe(200);
    await send(server, '/heartbeats', { body: { ...other, episodes: [], leaving: true } });
    await sleep(100);
    expect(server.swarm?.context.ledger.numRunning).toBe(0);
    await server.close();
    await waiting.catch(() => undefined);
  });

  it('is trained once although the server is replaced again and again while it runs', async () => {
    const first = await start();
    await postTasks(first, 3);
    const { port } = new URL(first.url);
    const worker = createWorker(first);
    const running = worker.run();
    let server = first;
    for (let restart = 0; restart < 3; restart++) {
      await expect.poll(() => Number(server.swarm?.describe().account['acknowledged'])).toBeGreaterThan(2 * restart);
      await server.close();
      server = await start({ port: Number(port) });
    }
    await running;
    await expect.poll(() => server.swarm?.describe().account).toMatchObject({ acknowledged: 12, trained: 12 });
    expect([...trainer.counts().values()]).toEqual(Array.from({ length: 12 }, () => 1));
  });
});

function createWorker({ url }: SwarmServer): Worker {
  const transport = createHttpTransport({ url, key: commander, fetch, timeoutMs: 2000 });
  let numRefused = 0;
  return new Worker({
    host: systemClientHost,
    transport,
    client: 'lab',
    revision: 'r1',
    purpose: 'any',
    parallel: 3,
    leaseSeconds: 60,
    waitSeconds: 0,
    heartbeatMs: 50,
    idleMs: 10,
    firstGapMs: 10,
    maxGapMs: 100,
    execute: async ({ place }) => ({
      client: 'lab',
      status: 'completed',
      reward: place,
      is_success: null,
      metadata: {},
      log_metrics: {},
    }),
    isDone: ({ reason }) => reason === 'no_task' && ++numRefused > 0,
    signal: new AbortController().signal,
  });
}

describe('bad input', () => {
  const end = { client: 'me', status: 'completed', reward: 1 };

  it.each([
    ['a body that is not JSON', '/episodes', { body: '{"claim_id": ' }, 400, 'invalid_json'],
    ['an unknown field', '/episodes', { body: { ...claim, colour: 'red' } }, 400, 'invalid_request'],
    ['an unknown share', '/episodes', { body: { ...claim, can: ['math'] } }, 404, 'unknown_share'],
    ['a body that is too large', '/episodes', { body: { ...claim, client: 'x'.repeat(5000) } }, 413, 'too_large'],
    ['a body that is too deep', '/tasks', { body: '['.repeat(100) }, 400, 'invalid_request'],
    [
      'a compressed body',
      '/tasks',
      { body: '{}', headers: { 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    [
      'an infinite reward',
      '/episodes/e/end',
      { body: '{"client":"me","status":"completed","reward":1e999}' },
      400,
      'invalid_request',
    ],
    [
      'a reward that is not a number',
      '/episodes/e/end',
      { body: '{"client":"me","status":"completed","reward":NaN}' },
      400,
      'invalid_json',
    ],
    ['an end of an episode that never was', '/episodes/e/end', { body: end }, 410, 'gone'],
    ['an unknown route', '/nothing', { body: {} }, 404, 'unknown_route'],
    ['an unknown method', '/episodes', { method: 'PUT', body: {} }, 405, 'wrong_method'],
    ['an unknown operation', '/run/explode', { body: {} }, 404, 'unknown_operation'],
    ['another wire version', '/episodes', { body: claim, headers: { 'x-ajet-wire': '9' } }, 400, 'wire_version'],
    ['no key', '/episodes', { body: claim, key: '' }, 401, 'missing_key'],
    ['a wrong key', '/episodes', { body: claim, key: 'ajk_worker_00_11' }, 401, 'unknown_key'],
    [
      'a change without a revision',
      '/run/config',
      { method: 'PATCH', body: { request_id: 'r', changes: {} } },
      400,
      'invalid_request',
    ],
  ] as const)('%s is answered with its code', async (_what, path, sent, status, code) => {
    const server = await start({ app: { limits: { maxBytes: 4000, maxDepth: 32 } } });
    const answer = await send(server, path, sent);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });

  it('a body that does not come is given up', async () => {
    const server = await start({ app: { limits: { maxMs: 50 } } });
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{')) });
    const response = await fetch(`${server.url}/swarm/v1/episodes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${commander}` },
      body,
      duplex: 'half',
    } as RequestInit);
    expect([response.status, codeOf({ body: await response.json() } as Answer)]).toEqual([408, 'slow_body']);
  });

  it('an end by another client touches nothing', async () => {
    const server = await start();
    await postTasks(server, 1);
    const id = await claimOne(server);
    const answer = await send(server, `/episodes/${id}/end`, { body: { ...end, client: 'you' } });
    expect([answer.status, codeOf(answer)]).toEqual([403, 'foreign_episode']);
    expect((await send(server, `/episodes/${id}`, { method: 'GET' })).body).toMatchObject({ state: 'running' });
  });

  it('an end of an episode that was given back says why it is gone', async () => {
    const server = await start();
    await postTasks(server, 1);
    const id = await claimOne(server);
    expect((await send(server, `/episodes/${id}/abandon`, { body: { client: 'me' } })).body).toMatchObject({
      reason: 'abandoned',
    });
    const answer = await send(server, `/episodes/${id}/end`, { body: end });
    expect([answer.status, answer.body]).toMatchObject([
      410,
      { error: { code: 'gone', details: { reason: 'abandoned' } } },
    ]);
  });
});

describe('keys', () => {
  it('open what their role allows, within their bounds, until they expire or are deleted', async () => {
    const server = await start();
    await postTasks(server, 1);
    const make = async (body: Readonly<Record<string, unknown>>): Promise<string> =>
      String((await send(server, '/keys', { body })).body['key']);
    const observer = await make({ name: 'watch', role: 'observer' });
    const worker = await make({ name: 'lab', role: 'worker', reward_bounds: [0, 1] });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const expired = await make({ name: 'old', role: 'worker', expires_at: tomorrow });
    await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
    const codes = async (key: string): Promise<readonly (number | string)[]> => {
      const statuses: (number | string)[] = [];
      for (const [path, sent] of [
        ['/server', { method: 'GET' }],
        ['/episodes', { body: claim }],
        ['/run/pause', { body: {} }],
        ['/groups?state=unscored', { method: 'GET' }],
      ] as const) {
        const answer = await send(server, path, { ...sent, key });
        statuses.push(answer.status < 400 ? answer.status : codeOf(answer));
      }
      return statuses;
    };
    expect(await codes(observer)).toEqual([200, 'wrong_role', 'wrong_role', 'wrong_role']);
    expect(await codes(worker)).toEqual([200, 201, 'wrong_role', 'wrong_role']);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 86_400_000 });
    expect(await codes(expired)).toEqual(Array.from({ length: 4 }, () => 'expired_key'));
    vi.useRealTimers();
    const id = await claimOne(server);
    const high = await send(server, `/episodes/${id}/end`, {
      key: worker,
      body: { client: 'me', status: 'completed', reward: 2 },
    });
    expect([high.status, codeOf(high)]).toEqual([422, 'reward_out_of_bounds']);
    const often = Array.from({ length: 3 }, (_none, turn) => ({ agent: 'a', turn, value: 0.5 }));
    const sum = await send(server, `/episodes/${id}/end`, {
      key: worker,
      body: { client: 'me', status: 'completed', reward: 0, turn_rewards: often },
    });
    expect([sum.status, codeOf(sum)]).toEqual([422, 'reward_out_of_bounds']);
    await send(server, '/keys/lab', { method: 'DELETE' });
    expect(codeOf(await send(server, '/server', { method: 'GET', key: worker }))).toBe('unknown_key');
  });

  it('outlive a restart, and are kept as hashes only', async () => {
    const server = await start();
    await server.close();
    const again = await start();
    expect(again.firstKey).toBeUndefined();
    expect((await send(again, '/server', { method: 'GET' })).status).toBe(200);
    const kept = JSON.stringify(
      [...new MemoryStore(disk).files()].flatMap(({ number }) => [...new MemoryStore(disk).read(number, 'events')]),
    );
    expect(kept).not.toContain(commander.split('_').at(-1));
    const { body } = await send(again, '/keys', { method: 'GET' });
    expect(body).toEqual({ keys: [{ name: 'first', role: 'commander' }] });
  });

  it('are not needed on loopback if that is asked for, and only there', async () => {
    const server = await start({ app: { needsKey: false } });
    expect((await send(server, '/server', { method: 'GET', key: '' })).status).toBe(200);
    await expect(start({ hostname: '0.0.0.0', app: { needsKey: false } })).rejects.toThrow('on loopback only');
    await expect(start({ hostname: '0.0.0.0' })).rejects.toThrow('would send keys over plain HTTP');
  });
});

it('a second server takes the store, and the first one stops without touching it', async () => {
  const first = await start();
  await postTasks(first, 1);
  const second = await start();
  const id = await claimOne(second);
  const answer = await send(first, `/episodes/${id}/end`, { body: { client: 'me', status: 'completed', reward: 1 } });
  expect([answer.status, codeOf(answer)]).toEqual([503, 'not_owner']);
  expect(
    (await send(second, `/episodes/${id}/end`, { body: { client: 'me', status: 'completed', reward: 1 } })).status,
  ).toBe(200);
});

it('a server that cannot write its heartbeat opens the store again, or ends if another server has it', async () => {
  const losses: ((error: unknown) => void)[] = [];
  const openStore = async (onLost: (error: unknown) => void): Promise<MemoryStore> => {
    losses.push(onLost);
    return new MemoryStore(disk);
  };
  const server = await start({ openStore });
  await postTasks(server, 1);
  losses[0]?.(new Error('the disk failed'));
  await expect.poll(() => losses.length).toBe(2);
  await expect.poll(async () => (await send(server, '/server', { method: 'GET' })).status).toBe(200);
  losses[0]?.(new StoreError('not_owner', 'of a store that was let go'));
  expect((await send(server, '/server', { method: 'GET' })).status).toBe(200);
  losses[1]?.(new StoreError('not_owner', 'Another server has taken the store over.'));
  const answer = await send(server, '/server', { method: 'GET' });
  expect([answer.status, codeOf(answer)]).toEqual([503, 'not_owner']);
});

it('a failing disk is answered, and the server continues by itself', async () => {
  let isBroken = false;
  const faults = { fails: (operation: string): boolean => operation === 'sync' && isBroken };
  const server = await start({ openStore: async () => new MemoryStore(disk, { faults }) });
  await postTasks(server, 1);
  const id = await claimOne(server);
  isBroken = true;
  const end = { client: 'me', status: 'completed', reward: 1 };
  const answer = await send(server, `/episodes/${id}/end`, { body: end });
  expect([answer.status, codeOf(answer)]).toEqual([507, 'store_failed']);
  isBroken = false;
  await expect.poll(async () => (await send(server, `/episodes/${id}/end`, { body: end })).status).toBe(200);
});
