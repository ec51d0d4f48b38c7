import { createRandom, Outage } from '@agentjet/core';
import type { WorkflowFunction } from '@agentjet/rollout';

/**
 * An agent with a service that fails. The agent makes three model calls, and the service may fail before each call or
 * after the last. The fraction `share` of the attempts is lost at random. While `isDown` is true, all attempts are
 * lost.
 */
export type FlakyWorld = {
  readonly share: number;
  isDown: boolean;
  /** The number of attempts that were lost to outages. */
  outages: number;
  readonly workflow: WorkflowFunction;
};

const numCalls = 3;

/** Returns a reward that differs between the episodes of a group, so every group has a gradient. */
function rewardOf(episodeId: string): number {
  return Number(/-r(\d+)/.exec(episodeId)?.[1] ?? 0) % 4;
}

export function createFlakyWorld(share: number, seed: number): FlakyWorld {
  const random = createRandom(seed);
  const world: FlakyWorld = {
    share,
    isDown: false,
    outages: 0,
    workflow: async (task, tuner) => {
      const model = tuner.selectModel({ agentName: 'worker' }, (tuned) => tuned);
      const lostAt = random.next() < share ? random.int(numCalls + 1) : -1;
      for (let call = 0; call <= numCalls; call++) {
        if (world.isDown || call === lostAt) {
          world.outages++;
          throw new Outage('the service is away', { host: world.isDown ? 'service' : `service-${random.int(1000)}` });
        }
        if (call < numCalls)
          await model.generate({ messages: [{ role: 'user', content: `${task.mainQuery} ${call}` }] });
      }
      return { reward: rewardOf(tuner.episodeId) };
    },
  };
  return world;
}
