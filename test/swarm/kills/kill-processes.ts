import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, foldStore, LmdbStore, type DropReason } from '@agentjet/ledger';
import { createHttpTransport } from '@agentjet/swarm-client';
import { readWeights, stepsIn } from './file-trainer.js';

/**
 * Real processes on a real store, killed with SIGKILL at random moments: first servers and clients in turn, and at the
 * end everything is left to finish. What clients have receipts for must be in the ledger, and in the weights once.
 */

export type KillReport = {
  readonly kills: { readonly server: number; readonly client: number };
  readonly acknowledged: number;
  readonly trained: number;
  readonly trained_share: number;
  readonly dropped_by_reason: Readonly<Partial<Record<DropReason, number>>>;
  /** Attempts that were lost although their client lived. */
  readonly sampled_again: number;
  readonly lost: number;
  readonly doubled: number;
};

export async function killProcesses(dir: string, numKills: number, numTasks: number): Promise<KillReport> {
  const port = 20_000 + (process.pid % 20_000);
  const url = `http://127.0.0.1:${port}`;
  const kills = { server: 0, client: 0 };
  const startServer = (): Promise<ChildProcess> => startChild('server-child.ts', [dir, String(port)]);
  const startClient = (name: string): ChildProcess => spawnChild('client-child.ts', [url, name, path.join(dir, name)]);
  let server = await startServer();
  await postTasks(url, numTasks);
  const clients = new Map(['c0', 'c1'].map((name) => [name, startClient(name)]));
  try {
    for (let kill = 0; kill < numKills; kill++) {
      await sleep(200 + Math.random() * 800);
      if (kill % 4 === 3) {
        await killChild(clients.get('c0'));
        kills.client++;
        clients.set('c0', startClient('c0'));
      } else {
        await killChild(server);
        kills.server++;
        server = await startServer();
      }
    }
    await Promise.all([...clients.values()].map(exited));
    await sleep(500); // the last step, and its checkpoint
  } finally {
    for (const child of [server, ...clients.values()]) await killChild(child);
  }
  return { kills, ...(await compare(dir)) };
}

/** The receipts, the ledger and the weights. */
async function compare(dir: string): Promise<Omit<KillReport, 'kills'>> {
  const store = await LmdbStore.open(path.join(dir, 'ledger'), { isReadOnly: true });
  const { state } = foldStore(store);
  await store.close();
  const fates = new Map([...state.finishedEpisodes.values()].map(({ episodeId, fate }) => [episodeId, fate as string]));
  for (const { episodeId, state: fate, end } of state.episodes.values())
    if (end !== undefined) fates.set(episodeId, fate);
  const receipts = ['c0', 'c1'].flatMap((name) => readLines(path.join(dir, name)));
  const newest = Math.max(0, ...stepsIn(path.join(dir, 'weights')));
  const counts = new Map<string, number>();
  for (const id of newest === 0 ? [] : readWeights(path.join(dir, 'weights'), newest).episodeIds) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const inWeights = [...state.manifests.values()].filter(({ step }) => step > newest).flatMap(({ groups }) => groups);
  for (const { episodeId } of inWeights.flatMap(({ episodes }) => episodes))
    counts.set(episodeId, (counts.get(episodeId) ?? 0) + 1);
  const isMissing = ([id, fate]: readonly [string, string]): boolean => fate === 'trained' && !counts.has(id);
  const { acknowledged, trained, droppedByReason } = accountOf(state);
  const lostAttempts = [...state.finishedEpisodes.values(), ...state.episodes.values()].filter(({ reason }) =>
    ['lease_expired', 'machine_restarted', 'outage'].includes(reason ?? ''),
  );
  return {
    acknowledged,
    trained,
    trained_share: trained / acknowledged,
    dropped_by_reason: droppedByReason,
    sampled_again: lostAttempts.length,
    lost: receipts.filter((id) => !fates.has(id)).length + [...fates].filter(isMissing).length,
    doubled: [...counts.values()].filter((count) => count > 1).length,
  };
}

async function postTasks(url: string, count: number): Promise<void> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await createHttpTransport({ url, fetch }).addTasks({ tasks, total: count });
}

function spawnChild(script: string, args: readonly string[]): ChildProcess {
  const root = path.resolve(import.meta.dirname, '../../..');
  const tsx = path.join(root, 'node_modules/tsx/dist/loader.mjs');
  return spawn(process.execPath, ['--import', tsx, path.join(import.meta.dirname, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json') },
  });
}

async function startChild(script: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawnChild(script, args);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes('ready') && resolve());
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code} before it was ready.`)));
  });
  return child;
}

async function killChild(child?: ChildProcess): Promise<void> {
  if (child === undefined) return;
  child.kill('SIGKILL');
  await exited(child);
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

const readLines = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').filter(Boolean) : [];
