import { SwarmOperator } from '@agentjet/swarm-client';
import type { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { claimRequestSchema, endRequestSchema } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';
import { TrainingWatch } from './watch-training.js';

/** A server whose clients fail every episode. */

let servers = new MemoryServers();
const watches: TrainingWatch[] = [];
let numClaims = 0;

beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(async () => {
  await Promise.all(watches.splice(0).map((watch) => watch.close()));
  await servers.close();
});

/** Claims an episode and ends it. */
async function end({ swarm }: SwarmServer, outcome: { readonly status: 'completed' | 'failed' }): Promise<void> {
  const claim = claimRequestSchema.parse({ claim_id: `claim-${numClaims++}`, client: 'me', life: 'one', count: 1 });
  const answer = await swarm?.claim(claim);
  for (const { episode_id, place } of answer?.episodes ?? []) {
    const reward = outcome.status === 'completed' ? { reward: place } : {};
    await swarm?.end(episode_id, endRequestSchema.parse({ client: 'me', ...outcome, ...reward }));
  }
}

it('stops training when the episodes of max_empty_steps batches have failed, and an operator starts it again', async () => {
  const settings = { ...testSettings, totalEpochs: 20, maxEmptySteps: 2 };
  const server = await servers.start({ settings });
  const watch = new TrainingWatch(server.url, server.firstKey);
  watches.push(watch);
  const tasks = ['a', 'b'].map((task_id, index) => ({ task_id, index, hash: 'h' }));
  await server.swarm?.addTasks({ tasks, total: tasks.length });

  for (let failed = 0; failed < 8; failed++) await end(server, { status: 'failed' });
  await expect.poll(() => watch.said.at(-1)).toMatch(/^failed \d+ episodes since step 0 failed.*"ajet swarm start"/);

  await new SwarmOperator({ url: server.url, key: server.firstKey }).operate('start');
  await expect.poll(() => watch.said.at(-1)).toBe('training');
  for (let place = 0; place < 4; place++) await end(server, { status: 'completed' });
  await expect.poll(() => server.swarm?.context.weights.version).toBe(1);
});
