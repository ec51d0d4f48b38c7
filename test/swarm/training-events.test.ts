import type { SwarmServer } from '@agentjet/swarm-server';
import type { TrainerPort } from '@agentjet/swarm-server/swarm';
import { SwarmOperator } from '@agentjet/swarm-client';
import { claimRequestSchema, endRequestSchema } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';
import { TrainingWatch } from './watch-training.js';

/** A server whose model fails, and the clients that watch its events. */

let servers = new MemoryServers();
let watches: TrainingWatch[] = [];
let problem: string | undefined;

beforeEach(() => {
  servers = new MemoryServers();
  watches = [];
  problem = undefined;
});
afterEach(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  await servers.close();
});

/** Opens a trainer that only counts its steps. Its steps throw while a problem is set. */
async function openTrainer(): Promise<TrainerPort> {
  const trainer = await servers.trainer.open();
  const check = (): void => {
    if (problem !== undefined) throw new Error(problem);
  };
  return { ...trainer, optimize: async (...step) => (check(), trainer.optimize(...step)) };
}

/** Ends the episodes for one step, and waits until its manifest is written. */
async function fillBatch({ swarm }: SwarmServer): Promise<void> {
  const tasks = ['a', 'b'].map((task_id, index) => ({ task_id, index, hash: 'h' }));
  await swarm?.addTasks({ tasks, total: tasks.length });
  const claim = claimRequestSchema.parse({ claim_id: 'claim', client: 'me', life: 'one', count: 4 });
  const answer = await swarm?.claim(claim);
  for (const { episode_id, place } of answer?.episodes ?? [])
    await swarm?.end(episode_id, endRequestSchema.parse({ client: 'me', status: 'completed', reward: place }));
}

function watch({ url, firstKey }: SwarmServer): TrainingWatch {
  const opened = new TrainingWatch(url, firstKey);
  watches.push(opened);
  return opened;
}

it('the stream says that the server trains, why it stopped, and that it works again', async () => {
  const server = await servers.start({ openTrainer });
  const operator = new SwarmOperator({ url: server.url, key: server.firstKey });
  const early = watch(server);
  await expect.poll(() => early.said).toEqual(['training']);

  problem = 'No GPU is free.';
  await fillBatch(server);
  const why = 'failed No GPU is free. It failed 4 times within ten minutes.';
  await expect.poll(() => early.said.at(-1)).toContain(why);
  const late = watch(server);
  await expect.poll(() => late.said).toEqual([expect.stringContaining(why)]);

  problem = undefined;
  await operator.operate('start');
  await expect.poll(() => early.said.at(-1)).toBe('training');
  await expect.poll(() => late.said.at(-1)).toBe('training');
});
