/**
 * A process for a store with many episodes. `fill <store> <episodes>` writes the store. `serve <store>` serves it. `idle`
 * does nothing. `serve` and `idle` answer each message with the longest delay of their event loop since the last
 * message.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createRules, foldStore, LmdbStore } from '@agentjet/ledger';
import { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { fillMany, places } from './fill-many.js';

const files = { maxFileBytes: 256 * 2 ** 20, maxFileEntries: 1_000_000 };

async function serve(dir: string): Promise<void> {
  const store = await LmdbStore.open(dir, { isReadOnly: true });
  const steps = lastStep(store);
  await store.close();
  const server = await SwarmServer.start({
    openStore: (onLost) => LmdbStore.open(dir, { takeOver: true, onLost }),
    openTrainer: async () => ({
      repeatsExactly: true,
      checkpoints: async () => [steps - 1, steps], // so an ordered checkpoint removes all older files
      load: async () => undefined,
      optimize: async () => ({ isApplied: true }),
      publish: async () => undefined,
      save: async () => undefined,
      removeCheckpoint: async () => undefined,
      plan: (groups) => ({ optimizerSteps: [groups.map(({ groupId }) => groupId)] }),
    }),
    settings: {
      ...testSettings,
      ...files,
      rules: { ...createRules(), batchSize: 1_000_000, oversubscribe: 1, maxStaleness: 1_000_000 },
      numPlaces: places,
      capacity: 1_000_000,
      tickMs: 500,
      leaseMs: 3_600_000,
      saveFreq: 1_000_000,
      totalEpochs: 1_000_000,
    },
    app: { needsKey: false },
  });
  process.send?.({ url: server.url });
}

/** Returns the last step. It is near the end of the store, so only the newest file is read. */
function lastStep(store: LmdbStore): number {
  let step = 0;
  const newest = store.files().at(-1)?.number ?? 0;
  for (const { record } of store.read(newest, 'events')) if (record.kind === 'outcome') step = record.step;
  return step || foldStore(store).state.step;
}

const [kind = '', dir = '', episodes = ''] = process.argv.slice(2);
const delays = monitorEventLoopDelay({ resolution: 5 });
process.on('message', () => {
  process.send?.({ longestMs: delays.max / 1e6 });
  delays.reset();
});
process.once('disconnect', () => process.exit(0));
if (kind === 'fill') {
  await fillMany(dir, Number(episodes));
  process.send?.({ url: '' });
} else if (kind === 'serve') await serve(dir);
else process.send?.({ url: '' });
delays.enable();
