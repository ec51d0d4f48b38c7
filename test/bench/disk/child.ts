/**
 * Serves a store and a run folder on small disks: `child.ts <store> <run folder> <groups of a step>`. The trainer
 * writes 64 kB into the run folder for each step. The process sends the server's address to its parent, and ends with
 * the parent.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { LmdbStore } from '@agentjet/ledger';
import { SwarmServer } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings, watchRunDisk } from '@agentjet/swarm-server/testing';

const [storeDir = '', runDir = '', batchSize = ''] = process.argv.slice(2);
mkdirSync(runDir, { recursive: true });
const trainer = createCountingTrainer();
const server = await SwarmServer.start({
  openStore: (onLost) => LmdbStore.open(storeDir, { takeOver: true, minFreeBytes: 16 * 2 ** 20, onLost }),
  openTrainer: async () => ({
    ...(await trainer.open()),
    record: async ({ step }) => appendFileSync(path.join(runDir, 'metrics'), `${step}`.padEnd(2 ** 16)),
  }),
  runDisk: watchRunDisk(runDir),
  settings: {
    ...testSettings,
    rules: { ...testSettings.rules, batchSize: Number(batchSize), maxStaleness: 1_000_000, oversubscribe: 1 },
    numPlaces: 1,
    capacity: 1_000_000,
    saveFreq: 1_000_000,
    leaseMs: 3_600_000,
    maxSteps: Infinity,
    totalEpochs: 1_000_000,
  },
  app: { needsKey: false, limits: { maxBytes: 2 ** 23, maxMs: 60_000 } },
});
process.send?.({ url: server.url });
process.once('disconnect', () => process.exit(0));
