import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { LmdbStore, verifyStore } from '@agentjet/ledger';
import { createProgram } from '@agentjet/cli';
import { SwarmServer } from '@agentjet/swarm-server';
import type { TrainerPort } from '@agentjet/swarm-server/swarm';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** The commands that an operator types on another machine. */

let dir = '';
let server: SwarmServer;
let commander = '';
let trainer = createCountingTrainer();
let numClaims = 0;
/** These variables make reopening a model slow, and make saving fail. */
let slowMs = 0;

async function openTrainer(): Promise<TrainerPort> {
  await setTimeout(slowMs);
  const opened = await trainer.open();
  const fail = async (): Promise<void> => {
    await setTimeout(slowMs);
    throw new Error('The disk is full.');
  };
  return { ...opened, save: async (step) => (slowMs > 0 ? fail() : opened.save(step)) };
}

async function start(): Promise<SwarmServer> {
  const started = await SwarmServer.start({
    openStore: () => LmdbStore.open(path.join(dir, 'ledger'), { takeOver: true }),
    openTrainer,
    settings: { ...testSettings, rules: { ...testSettings.rules, parts: { a: 0.5, b: 0.5 } }, saveFreq: 0 },
  });
  commander = started.firstKey ?? commander;
  await expect.poll(() => started.swarm?.describe().state).toBe('rolling');
  return started;
}

beforeEach(async () => {
  slowMs = 0;
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-operator-'));
  trainer = createCountingTrainer();
  server = await start();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

/** Runs a command with --json and returns what it printed. */
async function ajet(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  vi.stubEnv('AJET_SWARM_SERVER', server.url);
  vi.stubEnv('AJET_SWARM_KEY', commander);
  let written = '';
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  try {
    await createProgram(() => {}).parseAsync(['node', 'ajet', 'swarm', ...args, '--json']);
  } finally {
    stdout.mockRestore();
  }
  return JSON.parse(written.trim().split('\n').at(-1) ?? '') as Readonly<Record<string, unknown>>;
}

async function post(route: string, body: unknown, key = commander): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${server.url}/swarm/v1${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Readonly<Record<string, unknown>>;
}

async function tell(share: string): Promise<void> {
  const tasks = Array.from({ length: 4 }, (_none, index) => ({ task_id: `t${index}`, index, hash: share }));
  await post('/tasks', { tasks, total: 4, share });
}

async function claim(share: string, key = commander): Promise<string | undefined> {
  const body = { claim_id: `c${numClaims++}`, client: share, life: 'one', can: [share] };
  const { episodes } = await post('/episodes', body, key);
  return (episodes as readonly { readonly episode_id: string }[])[0]?.episode_id;
}

const end = (episodeId: string, share: string, key = commander) =>
  post(`/episodes/${episodeId}/end`, { client: share, status: 'completed', reward: 1 }, key);

it('look, change shares and settings, pause and resume, and every order is in the audit', async () => {
  expect(await ajet('status')).toMatchObject({ state: 'rolling', shares: { a: { part: 0.5 } } });
  expect(await ajet('shares', 'a=0.25', 'b=0.75')).toEqual({ revision: 1, from_step: 1 });
  expect(await ajet('shares')).toMatchObject({ shares: { a: { part: 0.25 }, b: { part: 0.75 } } });
  expect(await ajet('set', 'trainer_common.save_freq=5')).toEqual({ revision: 2, from_step: 1 });
  expect(await ajet('pause')).toMatchObject({ operation: 'pause', state: 'done' });
  expect(await ajet('status')).toMatchObject({ state: 'paused', config_revision: 2 });
  expect(await ajet('resume')).toMatchObject({ state: 'done' });
  const { entries } = await ajet('audit');
  expect(entries).toMatchObject([
    { by: 'first', what: 'shares', detail: { shares: { a: 0.25, b: 0.75 } } },
    { by: 'first', what: 'configure', detail: { changes: { 'trainer_common.save_freq': 5 } } },
    { by: 'first', what: 'pause' },
    { by: 'first', what: 'resume' },
  ]);
  await expect(ajet('episodes', 'list', '--state', 'done')).rejects.toThrow(
    '"state" is "done"; there are running, ended, pooled, assigned, trained, evaluated, dropped.',
  );
  await expect(ajet('status', '--server', 'http://127.0.0.1:9')).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/^No server answers at http:\/\/127\.0\.0\.1:9: /) as unknown,
  });
  await expect(ajet('shares', 'a=0.25')).rejects.toMatchObject({ code: 'invalid_request' });
  expect((await ajet('audit'))['entries']).toHaveLength(4); // one entry for each accepted order
  await expect(ajet('shares', 'a=much')).rejects.toThrow('"a=much" is not a share with its part, such as math=0.4.');
});

it('wait for a checkpoint through an opening of the server, and learn that it failed', async () => {
  await tell('a');
  await tell('b');
  for (const share of ['a', 'a', 'b', 'b']) await end((await claim(share)) ?? '', share);
  await expect.poll(() => server.swarm?.describe().version).toBe(1);
  slowMs = 500;
  expect(await ajet('checkpoint')).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^No checkpoint was saved\. /) as unknown,
  });
});

it('drop what came with a key: its places are open again', async () => {
  await tell('a');
  await tell('b');
  const { key } = await ajet('keys', 'make', 'intern', '--shares', 'a');
  const [first, second] = [await claim('a', String(key)), await claim('a', String(key))];
  await end(first ?? '', 'a', String(key));
  expect(await ajet('episodes', '--state', 'pooled')).toMatchObject({ episodes: [{ episode_id: first }] });
  expect(await ajet('episodes', 'drop', '--key', 'intern')).toEqual({ dropped: 2 });
  const { episodes } = await ajet('episodes', 'list', '--state', 'dropped');
  expect(episodes).toMatchObject([
    { episode_id: first, reason: 'abandoned' },
    { episode_id: second, reason: 'abandoned' },
  ]);
  expect(await claim('a')).toBeDefined();
  expect(await ajet('keys', 'delete', 'intern')).toEqual({ deleted: true });
  expect(await ajet('keys')).toMatchObject({ keys: [{ name: 'first' }] });
  await expect(ajet('keys', 'delete', 'intern')).rejects.toThrow('There is no key "intern".');
  await expect(ajet('keys', 'make', 'intern', '--expires', '2020-01-31T00:00:00Z')).rejects.toThrow(
    '--expires is 2020-01-31T00:00:00Z, which is in the past, so nobody could use the key.',
  );
});

it('an end in peace: what runs may end, full batches are trained, a checkpoint is saved, and the next server continues', async () => {
  await tell('a');
  await tell('b');
  const claimed: [string, string][] = [];
  for (const share of ['a', 'a', 'b', 'b']) claimed.push([(await claim(share)) ?? '', share]);
  const finished = server.finish(60_000);
  await expect.poll(() => claim('a')).toBeUndefined();
  for (const [episodeId, share] of claimed) await end(episodeId, share);
  await finished;
  expect(server.swarm?.describe().account).toMatchObject({ trained: 4, running: 0 });
  expect([...(server.swarm?.context.ledger.state.checkpoints ?? [])]).toEqual([1]);
  await server.close();
  server = await start();
  expect(await claim('a')).toBeDefined();
});

it('a backup taken while the server runs is sound, and says where it is', async () => {
  await tell('a');
  await claim('a');
  const backup = path.join(dir, 'backup');
  expect(await ajet('backup', path.join(dir), backup)).toMatchObject({ folder: backup, step: 0 });
  await claim('a');
  const copy = await LmdbStore.open(path.join(backup, 'ledger'), { isReadOnly: true });
  expect(verifyStore(copy)).toMatchObject({ isSound: true, account: { running: 1 } });
  await copy.close();
});
