/**
 * By how much do batches differ from the fractions that are configured for the shares of tasks? It runs a server with
 * its ledger on disk, and a client for each share over HTTP. There are steps in the strict and in the elastic mode.
 * Between them, the server is restarted, the fractions are changed, and the client of one share is stopped. `--steps N`
 * is the number of steps in each phase.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { foldStore, LmdbStore, partsAt, shareOf, type LedgerState, type Parts } from '@agentjet/ledger';
import { SwarmClient } from '@agentjet/swarm-client';
import { SwarmServer } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';

const batchSize = 7;
const first: Parts = { lake: 0.6, sums: 0.27, words: 0.13 };
const second: Parts = { lake: 0.3, sums: 0.3, words: 0.4 };

export const optionTexts: OptionTexts = { '--steps <n>': 'default 40' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const steps = numberOption(args, '--steps', 40);
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-shares-'));
  const trainer = createCountingTrainer();
  const start = (isElastic: boolean): Promise<SwarmServer> =>
    SwarmServer.start({
      openStore: () => LmdbStore.open(dir, { takeOver: true }),
      openTrainer: trainer.open,
      settings: {
        ...testSettings,
        rules: { ...testSettings.rules, batchSize, parts: first, isElastic },
        sharePatienceMs: 500,
        saveFreq: 0, // with checkpoints, the first manifests would be removed
        totalEpochs: Infinity,
      },
      app: { needsKey: false },
    });
  try {
    await phase(await start(false), { steps, shares: Object.keys(first) });
    report(`${steps} strict steps`);
    await phase(await start(false), { steps: 2 * steps, shares: Object.keys(first), parts: second });
    report(`${steps} strict steps after a restart, with other parts`);
    await phase(await start(true), { steps: 3 * steps, shares: ['lake', 'sums'] });
    report(`${steps} elastic steps without a client for one share`);
    const store = await LmdbStore.open(dir, { isReadOnly: true });
    const { state } = foldStore(store);
    await store.close();
    return { summary: summarize(state, 2 * steps), details: { steps: state.step, batchSize, first, second } };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

type Phase = { readonly steps: number; readonly shares: readonly string[]; readonly parts?: Parts };

/** Runs clients until the server has made this many steps, and stops it. */
async function phase(server: SwarmServer, { steps, shares, parts }: Phase): Promise<void> {
  const stop = new AbortController();
  if (parts !== undefined) await server.swarm?.share(parts, 'second');
  const clients = shares.map((share) => {
    const client = new SwarmClient({ url: server.url, share, client: share });
    const tasks = Array.from({ length: 20 }, (_none, index) => ({ taskId: `${share}-${index}`, mainQuery: share }));
    const reward = async () => ({ reward: Math.random() });
    return client.run(reward, { tasks, parallel: 4, signal: stop.signal });
  });
  while ((server.swarm?.describe().version ?? 0) < steps) await Promise.race([sleep(20), ...clients]);
  stop.abort();
  await Promise.all(clients);
  await server.close();
}

/**
 * `max_group_error` is the largest error of a single batch that waited for all shares, or of all such batches together.
 */
function summarize(state: LedgerState, strictSteps: number): Readonly<Record<string, number>> {
  const errors = [...state.manifests.values()]
    .filter(({ step, groups }) => step <= strictSteps && groups.length === batchSize)
    .flatMap(({ step, groups, shares }) => {
      const parts = partsAt(state, first, step);
      const shareOfGroup = groups.map(({ groupId }) => shareOf(state.groups.get(groupId) ?? {}));
      return Object.entries(parts).flatMap(([share, part]) => [
        Math.abs(shareOfGroup.filter((each) => each === share).length - part * batchSize),
        Math.abs(shares?.carry[share] ?? Number.NaN),
      ]);
    });
  const lent = Object.values(state.shares.lent).reduce((sum, count) => sum + count, 0);
  return { max_group_error: Number(Math.max(...errors).toFixed(4)), elastic_lent: lent };
}
