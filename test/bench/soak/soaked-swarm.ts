import { setTimeout as sleep } from 'node:timers/promises';
import { LmdbStore, type Store, StoreError } from '@agentjet/ledger';
import { SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';
import type { TrainerPort } from '@agentjet/swarm-server/swarm';
import type { Engine } from '@agentjet/core';
import { openSteadyModel, steadyEngine } from '../swarm/steady-run.js';

/**
 * Starts a server whose engine answers slowly and whose trainer only counts its steps, so all growth comes from the
 * server itself.
 */
export async function startSoaked(
  dir: string,
  settings: SwarmServerOptions['settings'],
): Promise<{ readonly url: string; readonly failOnce: () => void }> {
  const trainer = createIdleTrainer();
  let isFailing = false;
  const server = await SwarmServer.start({
    openStore: async () =>
      withFaults(await LmdbStore.open(`${dir}/ledger`, { takeOver: true }), () => {
        const fails = isFailing;
        isFailing = false;
        return fails;
      }),
    openModel: async (records) => {
      const model = await openSteadyModel(dir, records, { engine: slowEngine });
      return { ...model, trainers: model.trainers.map((each) => ({ ...each, trainer })) };
    },
    settings: {
      ...settings,
      rules: { ...settings.rules, batchSize: 16, maxStaleness: 4, oversubscribe: 3 },
      saveFreq: 10,
      leaseMs: 20_000,
      maxFileBytes: 16 * 2 ** 20,
      maxFileEntries: 20_000,
    },
    app: { needsKey: false },
  });
  return { url: server.url, failOnce: () => (isFailing = true) };
}

const slowEngine: Engine = {
  ...steadyEngine,
  generate: async (...asked) => {
    await sleep(50 + 200 * Math.random());
    return steadyEngine.generate(...asked);
  },
};

/** Makes a sync fail on request. The server then forgets its state and computes it again from the store. */
function withFaults(store: Store, fails: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'sync')
        return async () => {
          if (fails()) throw new StoreError('failed', 'This sync was made to fail.');
          await target.sync();
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function createIdleTrainer(): TrainerPort {
  const saved = new Set([0]);
  return {
    repeatsExactly: true,
    checkpoints: async () => [...saved],
    load: async () => {},
    optimize: async (_manifest, _index, known) => known ?? { isApplied: true },
    publish: async () => {},
    save: async (step) => void saved.add(step),
    removeCheckpoint: async (step) => void saved.delete(step),
    plan: (groups) => ({ optimizerSteps: [groups.map(({ groupId }) => groupId)] }),
  };
}
