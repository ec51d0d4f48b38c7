/**
 * A process for a store with many episodes. `fill <store> <episodes>` writes the store as a long run does: with groups
 * of 8, steps of 16 groups, and files that are removed after checkpoints. `serve <store>` serves the store. `idle` does
 * nothing. `serve` and `idle` answer each message with the longest delay of their event loop since the last message.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createRules, foldStore, Ledger, LmdbStore, recover, retireFiles, StoreWriter } from '@agentjet/ledger';
import { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';

const places = 8;
const groupsOfStep = 16;
const files = { maxFileBytes: 256 * 2 ** 20, maxFileEntries: 1_000_000 };

async function fill(dir: string, episodes: number): Promise<void> {
  const store = await LmdbStore.open(dir);
  const { state, nextSequence, conclusions } = await recover(store);
  const fail = (error: Error): void => {
    throw error;
  };
  const writer = new StoreWriter(store, { nextSequence, ...files, maxFileEntries: 200_000, onFailure: fail });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  ledger.append(...conclusions);
  const content = { rows: 'r'.repeat(300) };
  for (let draw = 0; draw * places < episodes; draw++) {
    const groupId = `g${draw}.0`;
    ledger.openGroup({ groupId, taskId: `t${draw % 2000}`, numPlaces: places, draw });
    for (let place = 0; place < places; place++) {
      const episodeId = `e${draw}-${place}-0123456789ab`;
      ledger.claim({ groupId, place }, { episodeId, claimId: `c${draw}-${place}`, client: 'fill', seed: place });
      ledger.end(episodeId, { status: 'completed', reward: place % 2, content });
    }
    if (draw % groupsOfStep !== groupsOfStep - 1) continue;
    const groups = Array.from({ length: groupsOfStep }, (_none, at) => ledger.group(`g${draw - at}.0`));
    const { step } = ledger.assign(groups);
    ledger.conclude(step, 0, { isApplied: true });
    if (step % 50 === 0) ledger.append({ kind: 'checkpoint', step });
    await writer.committed();
    if (step % 50 === 0) await retireFiles({ store, ledger, writer }, step - 50);
  }
  ledger.append({ kind: 'checkpoint', step: ledger.line.step });
  await writer.synced();
  await store.close();
  process.send?.({ step: ledger.line.step });
}

async function serve(dir: string): Promise<void> {
  const store = await LmdbStore.open(dir, { isReadOnly: true });
  const steps = foldedSteps(store);
  await store.close();
  const server = await SwarmServer.start({
    openStore: (onLost) => LmdbStore.open(dir, { takeOver: true, onLost }),
    openTrainer: async () => ({
      repeatsExactly: true,
      checkpoints: async () => [0, steps],
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

/** Returns the step of the newest checkpoint. It is near the end of the store, so the newest file is read first. */
function foldedSteps(store: LmdbStore): number {
  let step = 0;
  const newest = store.files().at(-1)?.number ?? 0;
  for (const { record } of store.read(newest, 'events')) if (record.kind === 'checkpoint') step = record.step;
  return step || foldStore(store).state.step;
}

const [kind = '', dir = '', episodes = ''] = process.argv.slice(2);
const delays = monitorEventLoopDelay({ resolution: 5 });
process.on('message', () => {
  process.send?.({ longestMs: delays.max / 1e6 });
  delays.reset();
});
process.once('disconnect', () => process.exit(0));
if (kind === 'fill') await fill(dir, Number(episodes));
else if (kind === 'serve') await serve(dir);
else process.send?.({ url: '' });
delays.enable();
