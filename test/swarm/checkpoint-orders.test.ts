import { setTimeout } from 'node:timers/promises';
import { systemHost } from '@agentjet/ledger';
import { MemoryStore } from '@agentjet/ledger/testing';
import type { SwarmServer } from '@agentjet/swarm-server';
import { Swarm, type TrainerPort } from '@agentjet/swarm-server/swarm';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { claimRequestSchema, endRequestSchema } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** Orders to save a checkpoint, and servers that are opened again before or after the orders are carried out. */

const settings = { ...testSettings, saveFreq: 0 };

let servers = new MemoryServers();
let key: string | undefined;
/** The outcome of the next saving of a checkpoint. */
let saving: 'works' | 'waits' | 'fails' = 'works';
let numSavings = 0;

beforeEach(() => {
  servers = new MemoryServers();
  saving = 'works';
  numSavings = 0;
});
afterEach(() => servers.close());

async function openTrainer(): Promise<TrainerPort> {
  const trainer = await servers.trainer.open();
  return {
    ...trainer,
    save: async (step) => {
      numSavings++;
      if (saving === 'fails') throw new Error('The disk is full.');
      if (saving === 'waits') await new Promise(() => undefined); // this never resolves
      await trainer.save(step);
    },
  };
}

/** Starts a server with one step that no checkpoint has. */
async function startWithStep(): Promise<SwarmServer> {
  const server = await servers.start({ openTrainer, settings });
  key = server.firstKey;
  if (server.swarm !== undefined) await fillBatch(server.swarm);
  await expect.poll(() => server.swarm?.describe().version).toBe(1);
  return server;
}

async function fillBatch(swarm: Swarm): Promise<void> {
  const tasks = Array.from({ length: 4 }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await swarm.addTasks({ tasks, total: tasks.length });
  const claim = claimRequestSchema.parse({ claim_id: 'claim', client: 'me', life: 'one', count: 4 });
  for (const { episode_id, place } of (await swarm.claim(claim)).episodes)
    await swarm.end(episode_id, endRequestSchema.parse({ client: 'me', status: 'completed', reward: place }));
}

async function send({ url }: SwarmServer, method: string, route: string, id = 'mine'): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': id };
  return (await fetch(`${url}/swarm/v1${route}`, { method, headers })).json();
}

const order = (server: SwarmServer, operation = 'checkpoint') => send(server, 'POST', `/run/${operation}`);
const ask = (server: SwarmServer) => send(server, 'GET', '/operations/mine');

const openedAgain = {
  operation_id: 'mine',
  operation: 'checkpoint',
  state: 'failed',
  message: expect.stringContaining('opened again') as unknown,
};

it('an order whose checkpoint cannot be saved has failed, is not carried out later, and training continues', async () => {
  const server = await startWithStep();
  saving = 'fails';
  const { swarm } = server;
  await order(server); // the checkpoint fails at once, so the order may or may not get an answer before
  await expect.poll(() => server.swarm !== undefined && server.swarm !== swarm).toBe(true);
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
  expect(await ask(server)).toEqual(openedAgain);
  expect(await order(server)).toEqual(openedAgain);
  await setTimeout(5 * settings.tickMs); // if the order were still open, it would be carried out by now
  expect([numSavings, server.swarm?.describe().state]).toEqual([1, 'rolling']);
});

it('an order that a server has not carried out has failed for the next one', async () => {
  const first = await startWithStep();
  saving = 'waits';
  expect(await order(first)).toMatchObject({ state: 'accepted' });
  await expect.poll(() => numSavings).toBe(1);
  first.swarm?.close(); // as after a kill, nothing more is written
  saving = 'works';
  const next = await servers.start({ openTrainer, settings });
  expect(await ask(next)).toEqual(openedAgain);
  expect(await order(next, 'pause')).toMatchObject({ error: { code: 'name_taken' } });
});

it('an order that was carried out is done, for the next server too', async () => {
  const first = await startWithStep();
  await order(first);
  const done = { operation_id: 'mine', operation: 'checkpoint', state: 'done' };
  await expect.poll(() => ask(first)).toEqual(done);
  await first.close();
  const next = await servers.start({ openTrainer, settings });
  expect(await ask(next)).toEqual(done);
  expect(await order(next)).toEqual(done);
  expect(next.swarm?.describe().state).toBe('rolling'); // such an order pauses nothing
});

it('an order saves the checkpoint again if its files are gone, and only then', async () => {
  const server = await startWithStep();
  const orderAnother = async (id: string): Promise<number> => {
    await send(server, 'POST', '/run/checkpoint', id);
    await expect.poll(() => send(server, 'GET', `/operations/${id}`)).toMatchObject({ state: 'done' });
    return numSavings;
  };
  expect([await orderAnother('one'), await orderAnother('two')]).toEqual([1, 1]);
  servers.trainer.lose(1);
  expect([await orderAnother('three'), await orderAnother('four')]).toEqual([2, 2]);
});

it('a policy of several whose checkpoint cannot be saved is opened again, and saves no other', async () => {
  saving = 'fails';
  let numOpened = 0;
  const reopen = async (): Promise<void> => void numOpened++;
  const swarm = await Swarm.open({
    host: systemHost,
    store: new MemoryStore(servers.disk),
    settings,
    policies: [
      { name: 'planner', trainer: await createCountingTrainer().open(), settings },
      { name: 'worker', trainer: await openTrainer(), settings, reopen },
    ],
    onEnd: () => undefined,
  });
  await fillBatch(swarm);
  await expect.poll(() => swarm.context.policies.map(({ weights }) => weights.version)).toEqual([1, 1]);
  await swarm.checkpoint('mine', { by: 'me', at: '2026-01-31T00:00:00Z' });
  const message = 'No checkpoint was saved. The disk is full. Order it again.';
  await expect.poll(() => swarm.operation('mine')).toEqual({ operation: 'checkpoint', state: 'failed', message });
  await expect.poll(() => swarm.context.policies.map(({ weights }) => weights.phase)).toEqual(['waiting', 'waiting']);
  await setTimeout(5 * settings.tickMs);
  expect([numSavings, numOpened]).toEqual([1, 1]);
  swarm.close();
  await swarm.closed();
});
