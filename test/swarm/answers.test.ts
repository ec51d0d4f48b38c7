import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { createRunConfig, SwarmServer } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { errorSchema, routes } from '@agentjet/swarm-wire';
import { configuration } from 'agentjet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** Checks the answers of all routes against the protocol. */

let dir = '';
let server: SwarmServer;
let commander = '';
/** Routes whose answer was checked, as `METHOD path`. */
let seen = new Set<string>();

async function open(disk: MemoryDisk): Promise<void> {
  server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openTrainer: createCountingTrainer().open,
    settings: { ...testSettings, rules: { ...testSettings.rules, batchSize: 1 }, saveFreq: 1 },
    app: { config: createRunConfig('run-1', configuration.create({}), configuration), checkpoints: { '': dir } },
  });
  commander = server.firstKey ?? commander;
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
}

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'answers-'));
  seen = new Set();
  await open(new MemoryDisk());
});
afterEach(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

type Sent = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };
type Body = Readonly<Record<string, unknown>>;

/** Sends a request, and throws if the answer does not match the protocol. `ids` replace `{names}` in the path. */
async function ask(method: string, route: string, { body, headers = {} }: Sent = {}, query = ''): Promise<Body> {
  const found = routes.find((each) => {
    const pattern = new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return each.method === method && pattern.test(route);
  });
  const response = await fetch(`${server.url}/swarm/v1${route}${query}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${commander}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Body;
  const schema = found?.answers[response.status];
  if (schema === undefined)
    throw new Error(`${method} ${route} answered ${response.status}: ${JSON.stringify(answer)}`);
  expect(schema.parse(answer)).toEqual(answer);
  seen.add(`${method} ${found?.path}`);
  return answer;
}

async function refusal(method: string, route: string, body?: unknown): Promise<string> {
  const response = await fetch(`${server.url}/swarm/v1${route}`, {
    method,
    headers: { authorization: `Bearer ${commander}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return errorSchema.parse(await response.json()).error.code;
}

async function claim(claimId: string): Promise<string> {
  const { episodes } = await ask('post', '/episodes', { body: { claim_id: claimId, client: 'me', life: '1' } });
  return (episodes as readonly { readonly episode_id: string }[])[0]?.episode_id ?? '';
}

const end = (id: string, reward: number | null): Promise<Body> =>
  ask('post', `/episodes/${id}/end`, { body: { client: 'me', status: 'completed', reward } });

const tasks = [0, 1, 2, 3].map((index) => ({ task_id: `t${index}`, index, hash: 'h' }));

it('each route that has a schema answers what its schema says', async () => {
  await ask('put', '/run', { body: { config: {} } });
  await ask('post', '/tasks', { body: { tasks, total: 4 } });
  const [first, lost] = [await claim('a'), await claim('b')];
  await ask('post', `/episodes/${lost}/abandon`, { body: { client: 'me' } });
  const second = await claim('c');
  await end(first, null);
  await ask('post', '/heartbeats', { body: { client: 'me', life: '1', episodes: [second, 'none'] } });
  await end(second, null);
  const { groups } = await ask('get', '/groups', {}, '?state=unscored');
  const rewards = [first, second].map((episode_id, reward) => ({ episode_id, reward }));
  const [group] = groups as readonly { readonly group_id: string }[];
  const scores = { revision: 'r', replaces: null, rewards };
  await ask('put', `/groups/${group?.group_id}/rewards`, { body: scores });
  await expect.poll(() => server.swarm?.describe().version).toBe(1);
  await ask('get', '/server');
  await ask('get', '/clients');
  for (const name of ['/healthz', '/readyz', '/openapi.json']) await ask('get', name);
  await ask('get', '/episodes');
  await ask('get', `/episodes/${first}`);
  const key = { name: 'lab', role: 'worker', shares: ['default'], scores: ['default'], reward_bounds: [0, 1] };
  await ask('post', '/keys', { body: { ...key, expires_at: '2999-01-01T00:00:00Z', max_episodes: 3 } });
  await ask('get', '/keys');
  await ask('delete', '/episodes', {}, '?key=lab');
  await ask('delete', '/keys/lab');
  const change = { request_id: 'r', changes: { 'trainer_common.save_freq': 5 } };
  await ask('patch', '/run/config', { body: change, headers: { 'if-match': '0' } });
  await ask('put', '/shares', { body: { default: 1 } });
  for (const operation of ['pause', 'resume', 'checkpoint', 'drain', 'start', 'stop']) {
    const { operation_id: id } = await ask('post', `/run/${operation}`);
    if (operation !== 'start') expect(await ask('get', `/operations/${String(id)}`)).toMatchObject({ operation });
  }
  await ask('get', '/audit');
  await ask('get', '/checkpoints');
  const described = routes.filter(({ answers }) => Object.values(answers).some((schema) => schema !== undefined));
  const left = described.map(({ method, path: name }) => `${method} ${name}`).filter((name) => !seen.has(name));
  expect(left).toEqual(['delete /run']); // only a server that waits for runs has this route
});

describe('an episode', () => {
  it('has a step only if that holds it', async () => {
    await ask('post', '/tasks', { body: { tasks, total: 4 } });
    const [first, lost] = [await claim('a'), await claim('b')];
    await ask('post', `/episodes/${lost}/abandon`, { body: { client: 'me' } });
    const again = await claim('c');
    await end(first, 0);
    await end(again, 1);
    await expect.poll(() => server.swarm?.describe().version).toBe(1);
    for (const id of [first, again])
      expect(await ask('get', `/episodes/${id}`)).toMatchObject({ state: 'trained', step: 1 });
    const { step, ...abandoned } = await ask('get', `/episodes/${lost}`);
    expect([abandoned, step]).toEqual([expect.objectContaining({ state: 'dropped', reason: 'abandoned' }), undefined]);
  });
});

it('groups are listed by a state that there is', async () => {
  await ask('get', '/groups', {}, '?state=open');
  expect(await refusal('GET', '/groups?state=foo')).toBe('invalid_request');
});

describe('keys', () => {
  it('are listed with their limits, and without secrets', async () => {
    const limits = {
      name: 'lab',
      role: 'worker',
      shares: ['default'],
      scores: ['default'],
      reward_bounds: [0, 1],
      expires_at: '2999-01-01T00:00:00Z',
      max_episodes: 3,
    };
    await ask('post', '/keys', { body: limits });
    expect(await ask('get', '/keys')).toEqual({ keys: [{ name: 'first', role: 'commander' }, limits] });
  });

  it('are not made if they would have expired already', async () => {
    const key = { name: 'old', role: 'worker', expires_at: '2020-01-01T00:00:00Z' };
    expect(await refusal('POST', '/keys', key)).toBe('invalid_request');
    expect(await ask('get', '/keys')).toEqual({ keys: [{ name: 'first', role: 'commander' }] });
  });
});
