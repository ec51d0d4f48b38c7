import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, type DropReason } from '@agentjet/ledger';
import { createHttpTransport } from '@agentjet/swarm-client';
import { areWeightsExact, checkpointsOf, findRun, foldRun } from './replay-weights.js';

/**
 * Real processes on a real store with a real model, killed with SIGKILL at random moments: servers, clients and the engine's thread
 * in turn, and at the end everything is left to finish. What clients have receipts for must be in the ledger, and the weights must be, to
 * the last bit, those that every step once and in order gives.
 */

export type KillReport = {
  /** `worker`: the embedded engine is a thread of the server; it is terminated, and the server lives. */
  readonly kills: { readonly server: number; readonly worker: number; readonly client: number };
  readonly acknowledged: number;
  readonly trained: number;
  /** Of the acknowledged ones that could be trained: without `failed`, `superseded` and `non_finite_gradient`. */
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
  const kills = { server: 0, worker: 0, client: 0 };
  const startServer = (): Promise<ChildProcess> => startChild('server-child.ts', [dir, String(port)]);
  const startClient = (name: string): ChildProcess => spawnChild('client-child.ts', [url, name, path.join(dir, name)]);
  let server = await startServer();
  await postTasks(url, numTasks);
  const clients = new Map(['c0', 'c1'].map((name) => [name, startClient(name)]));
  try {
    for (let kill = 0; kill < numKills; kill++) {
      await sleep(200 + Math.random() * 1500);
      if (kill % 4 === 3) {
        await killChild(clients.get('c0'));
        kills.client++;
        clients.set('c0', startClient('c0'));
      } else if (kill % 4 === 1) kills.worker += await endEngine(server);
      else {
        await killChild(server);
        kills.server++;
        server = await startServer();
      }
    }
    await Promise.all([...clients.values()].map(exited));
    await isQuiet(url);
  } finally {
    for (const child of [server, ...clients.values()]) await killChild(child);
  }
  return { kills, ...(await compare(dir)) };
}

type Described = { readonly step: number; readonly account: Readonly<Record<string, number>> };

/** Waits until everything is trained or dropped, and saved. */
async function isQuiet(url: string): Promise<void> {
  for (let round = 0; round < 600; round++) {
    const described = (await fetch(`${url}/swarm/v1/server`)
      .then((response) => response.json())
      .catch(() => undefined)) as Described | undefined;
    const { acknowledged = -1, trained = 0, dropped = 0 } = described?.account ?? {};
    const { checkpoints } = (await fetch(`${url}/swarm/v1/checkpoints`)
      .then((response) => response.json())
      .catch(() => ({ checkpoints: [] }))) as { readonly checkpoints: readonly { readonly step: number }[] };
    if (acknowledged === trained + dropped && checkpoints.at(-1)?.step === described?.step) return;
    await sleep(200);
  }
}

/** The receipts, the ledger and the weights. Throws if the weights are not those that the ledger stands for. */
async function compare(dir: string): Promise<Omit<KillReport, 'kills'>> {
  const run = findRun(dir);
  const { state, close } = await foldRun(run);
  await close();
  if (checkpointsOf(run).at(-1) !== state.step) throw new Error(`The last step, ${state.step}, was never saved.`);
  if (!(await areWeightsExact(run, path.join(dir, 'again'))))
    throw new Error('The weights are not those that making every step once and in order gives.');
  const known = new Set([...state.finishedEpisodes.keys(), ...state.episodes.keys()]);
  const receipts = ['c0', 'c1'].flatMap((name) => readLines(path.join(dir, name)));
  const held = [...state.manifests.values()].flatMap(({ groups }) => groups.flatMap(({ episodes }) => episodes));
  const counts = new Map<string, number>();
  for (const { episodeId } of held) counts.set(episodeId, (counts.get(episodeId) ?? 0) + 1);
  const { acknowledged, trained, droppedByReason } = accountOf(state);
  const { failed = 0, superseded = 0, non_finite_gradient: refused = 0 } = droppedByReason;
  const isTrained = [...state.episodes.values()].filter((episode) => episode.state === 'trained');
  const isLostAttempt = ({ reason }: { readonly reason?: string | undefined }): boolean =>
    ['lease_expired', 'machine_restarted', 'outage', 'replay_mismatch'].includes(reason ?? '');
  return {
    acknowledged,
    trained,
    trained_share: trained / Math.max(1, acknowledged - failed - superseded - refused),
    dropped_by_reason: droppedByReason,
    sampled_again: [...state.finishedEpisodes.values(), ...state.episodes.values()].filter(isLostAttempt).length,
    lost:
      receipts.filter((id) => !known.has(id)).length +
      isTrained.filter(({ episodeId }) => !counts.has(episodeId)).length,
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

/** Ends the thread of a server's engine. Resolves to 1; to 0 if the engine was just being opened again, and there was no thread. */
async function endEngine(server: ChildProcess): Promise<number> {
  const said = new Promise<number>((resolve) => {
    server.stdout?.on('data', (chunk: Buffer) => {
      const ended = /worker ended (\d+)/.exec(chunk.toString())?.[1];
      if (ended !== undefined) resolve(Math.min(1, Number(ended)));
    });
    server.once('exit', () => resolve(0));
  });
  server.kill('SIGUSR2');
  return said;
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
