import { EnvironmentError, EnvironmentOutage, type Verdict } from '@agentjet/core';
import type { Environment, Session } from '@agentjet/rollout';
import type { CounterWorld } from './counter-world.js';
import type { FaultPlan } from './faults.js';
import type { StartWorld } from './world-server.js';

/** A world in this process. It supports the faults that an object can have: it fails before or after it acts. */
export const startLocalWorld: StartWorld = async (world, plan) => {
  let opened = 0;
  const environment: Environment = {
    name: 'counter',
    tasks: async function* () {
      for (const taskId of ['a', 'b', 'c']) yield { taskId, mainQuery: '', initMessages: [], metadata: { id: taskId } };
    },
    open: async ({ taskId }, { signal }) => {
      signal.throwIfAborted();
      if (taskId === 'unknown') throw new EnvironmentError('not_opened', 'There is no task "unknown".');
      const id = `local-${opened++}`;
      return createSession(world, plan, { id, text: world.begin(id, { taskId }) });
    },
  };
  return { environment, close: async () => {} };
};

function createSession(
  world: CounterWorld,
  plan: FaultPlan,
  { id, text }: { readonly id: string; readonly text: string },
): Session {
  return {
    observation: { text },
    tools: [],
    step: async (action) => {
      const words = typeof action === 'string' ? action : JSON.stringify(action);
      const fault = plan('act');
      if (fault === 'drop') throw new EnvironmentOutage('out of order');
      const result = world.apply(id, words);
      if (fault === 'lose' || result === undefined) throw new EnvironmentOutage('out of order');
      if (result.count < 0) throw new EnvironmentError('refused', `No such action: ${words}`);
      return { observation: { text: result.text }, reward: 0, isDone: result.isDone };
    },
    evaluate: async (): Promise<Verdict> => {
      const reward = world.score(id) ?? 0;
      return { reward, isSuccess: reward >= 1 };
    },
    close: () => void world.end(id),
  };
}
