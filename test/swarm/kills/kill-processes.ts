import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, defaultPolicy, lineOf, type Account, type DropReason, type LedgerState } from '@agentjet/ledger';
import { createHttpTransport } from '@agentjet/swarm-client';
import { checkpointsOf, findRun, findWrongWeights, foldRun } from './replay-weights.js';

/**
 * Kills real processes on a real store with a real model by SIGKILL at random moments: servers, clients and the
 * engine's thread in turn. At the end all work may finish. Every receipt of a client must be in the ledger. The weights
 * must equal, to the last bit, those of a run that makes every step once and in order. With two policies, this must
 * hold for each policy.
 */

export type KillReport = {
  /**
   * The number of kills. `worker` is the embedded engine, which is a thread of the server. Only this thread is
   * terminated, and the server continues.
   */
  readonly kills: { readonly server: number; readonly worker: number; readonly client: number };
  /** The number of acknowledged episodes. With several policies, an episode counts once for each policy. */
  readonly acknowledged: number;
  readonly trained: number;
  /**
   * The fraction of acknowledged episodes that were trained, without episodes that were dropped as `failed`,
   * `superseded` or `non_finite_gradient`.
   */
  readonly trained_share: number;
  readonly dropped_by_reason: Readonly<Partial<Record<DropReason, number>>>;
  /** Attempts that were lost although their client was alive. */
  readonly sampled_again: number;
  readonly lost: number;
  readonly doubled: number;
};

export type KillOptions = { readonly numKills: number; readonly numTasks: number; readonly numPolicies?: 1 | 2 };

export async function killProcesses(
  dir: string,
  { numKills, numTasks, numPolicies = 1 }: KillOptions,
): Promise<KillReport> {
  const port = 20_000 + (process.pid % 20_000);
  const url = `http://127.0.0.1:${port}`;
  const kills = { server: 0, worker: 0, client: 0 };
  const deaths: string[] = [];
  const startServer = async (): Promise<ChildProcess> => {
    const started = await startChild('server-child.ts', [dir, String(port), String(numPolicies)]);
    started.once('exit', (code, signal) => {
      if (!killed.has(started)) deaths.push(`with ${signal ?? `code ${code}`}`);
    });
    return started;
  };
  const startClient = (name: string): ChildProcess => spawnChild('client-child.ts', [url, name, path.join(dir, name)]);
  let server = await startServer();
  await postTasks(url, numTasks);
  const clients = new Map(['c0', 'c1'].map((name) => [name, startClient(name)]));
  try {
    for (let kill = 0; kill < numKills; kill++) {
      await sleep(200 + Math.random() * 1500);
      requireNoDeath(deaths);
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
    await isQuiet(url, findRun(dir));
    requireNoDeath(deaths);
  } finally {
    for (const child of [server, ...clients.values()]) await killChild(child);
  }
  return { kills, ...(await compare(dir, numPolicies)) };
}

/**
 * Throws if a server has ended although it was not killed. This is a bug, even if the next server loses nothing. The
 * server's standard error has the cause.
 */
function requireNoDeath(deaths: readonly string[]): void {
  if (deaths.length > 0) throw new Error(`A server that nobody killed has ended ${deaths.join(' and ')}.`);
}

type Described = { readonly step: number; readonly account: Readonly<Record<string, number>> };

/** Waits until everything is trained or dropped, and saved. */
export async function isQuiet(url: string, run: string): Promise<void> {
  for (let round = 0; round < 600; round++) {
    const server = (await fetch(`${url}/swarm/v1/server`)
      .then((response) => response.json())
      .catch(() => undefined)) as (Described & { readonly policies?: Readonly<Record<string, Described>> }) | undefined;
    const told = server === undefined ? [] : Object.entries(server.policies ?? { [defaultPolicy]: server });
    if (told.length > 0 && told.every(([policy, found]) => isDone(found, checkpointsOf(run, policy)))) return;
    await sleep(200);
  }
}

function isDone({ step, account }: Described, checkpoints: readonly number[]): boolean {
  const { acknowledged = -1, trained = 0, dropped = 0 } = account;
  return acknowledged === trained + dropped && checkpoints.at(-1) === step;
}

/**
 * Compares the receipts, the ledger and the weights. Throws if the weights are not those that follow from the ledger.
 */
async function compare(dir: string, numPolicies: number): Promise<Omit<KillReport, 'kills'>> {
  const run = findRun(dir);
  const { state, close } = await foldRun(run);
  await close();
  const policies = numPolicies === 1 ? [defaultPolicy] : [...state.lines.keys()];
  if (policies.length !== numPolicies) throw new Error(`The ledger knows the policies ${policies.join(', ')}.`);
  for (const policy of policies)
    if (checkpointsOf(run, policy).at(-1) !== lineOf(state, policy).step)
      throw new Error(`The last step of ${policy}, ${lineOf(state, policy).step}, was never saved.`);
  const wrong = await findWrongWeights(run, path.join(dir, 'again'), numPolicies);
  if (wrong.length > 0)
    throw new Error(`The weights of ${wrong.join(', ')} are not those that making every step once and in order gives.`);
  const known = new Set([
    ...[...state.finished.episodes()].map(({ episodeId }) => episodeId),
    ...state.episodes.keys(),
  ]);
  const receipts = ['c0', 'c1'].flatMap((name) => readLines(path.join(dir, name)));
  const held = policies.map((policy) => countHeld(state, policy));
  const total = addAccounts(policies.map((policy) => accountOf(state, policy)));
  const { failed = 0, superseded = 0, non_finite_gradient: refused = 0 } = total.droppedByReason;
  const isLostAttempt = ({ reason }: { readonly reason?: string | undefined }): boolean =>
    ['lease_expired', 'machine_restarted', 'outage', 'replay_mismatch'].includes(reason ?? '');
  return {
    acknowledged: total.acknowledged,
    trained: total.trained,
    trained_share: total.trained / Math.max(1, total.acknowledged - failed - superseded - refused),
    dropped_by_reason: total.droppedByReason,
    sampled_again: [...state.finished.episodes(), ...state.episodes.values()].filter(isLostAttempt).length,
    lost: receipts.filter((id) => !known.has(id)).length + held.reduce((sum, { missing }) => sum + missing, 0),
    doubled: held.reduce((sum, { doubled }) => sum + doubled, 0),
  };
}

/** Counts trained episodes that are in no manifest of the policy, and episodes that are in two. */
export function countHeld(state: LedgerState, policy: string): { readonly missing: number; readonly doubled: number } {
  const counts = new Map<string, number>();
  for (const { groups } of lineOf(state, policy).manifests.values())
    for (const { episodeId } of groups.flatMap(({ episodes }) => episodes))
      counts.set(episodeId, (counts.get(episodeId) ?? 0) + 1);
  const trained = [...state.episodes.values()].filter((one) => (one.parts?.get(policy) ?? one).state === 'trained');
  return {
    missing: trained.filter(({ episodeId }) => !counts.has(episodeId)).length,
    doubled: [...counts.values()].filter((count) => count > 1).length,
  };
}

function addAccounts(accounts: readonly Account[]): Pick<Account, 'acknowledged' | 'trained' | 'droppedByReason'> {
  const droppedByReason: Partial<Record<DropReason, number>> = {};
  for (const [reason, count] of accounts.flatMap((account) => Object.entries(account.droppedByReason)))
    droppedByReason[reason as DropReason] = (droppedByReason[reason as DropReason] ?? 0) + count;
  const sum = (field: 'acknowledged' | 'trained'): number => accounts.reduce((total, each) => total + each[field], 0);
  return { acknowledged: sum('acknowledged'), trained: sum('trained'), droppedByReason };
}

export async function postTasks(url: string, count: number): Promise<void> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await createHttpTransport({ url, fetch }).addTasks({ tasks, total: count });
}

export function spawnChild(
  script: string,
  args: readonly string[],
  errors: 'inherit' | 'pipe' = 'inherit',
): ChildProcess {
  const root = path.resolve(import.meta.dirname, '../../..');
  const tsx = path.join(root, 'node_modules/tsx/dist/loader.mjs');
  return spawn(process.execPath, ['--import', tsx, path.join(import.meta.dirname, script), ...args], {
    stdio: ['ignore', 'pipe', errors],
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

/**
 * Ends the thread of a server's engine. Resolves to 1, or to 0 if the engine was just being opened again and there was
 * no thread.
 */
async function endEngine(server: ChildProcess): Promise<number> {
  if (server.exitCode !== null || server.signalCode !== null) return 0;
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

/** Processes that were killed on purpose. */
const killed = new WeakSet<ChildProcess>();

export async function killChild(child?: ChildProcess): Promise<void> {
  if (child === undefined) return;
  killed.add(child);
  child.kill('SIGKILL');
  await exited(child);
}

export async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

export const readLines = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').filter(Boolean) : [];
