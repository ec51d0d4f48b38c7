/**
 * Fills the disks of a server: `fill-disks.ts <size of an end> <folder>`. It mounts two small disks, so it runs in a
 * mount namespace. It prints the results as one line of JSON.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LmdbStore, foldStore } from '@agentjet/ledger';
import { inParallel } from '../in-parallel.js';

const bytes = Number(process.argv[2]);
const dir = process.argv[3] ?? '';
const [storeDisk, runDisk] = ['store', 'run'].map((name) => path.join(dir, name)) as [string, string];
const storeDir = path.join(storeDisk, 'ledger');
const mebibytes = 2 ** 20;

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };
type Server = { readonly url: string; readonly child: ChildProcess };

let aborts = 0;
let isWanted = true;

function mount(disk: string, size: number, isFirst = true): void {
  mkdirSync(disk, { recursive: true });
  const how = isFirst ? `size=${size}` : `remount,size=${size}`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', how, 'tmpfs', disk]);
}

/** Writes a file until the disk is full. */
function fillUp(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (;;) writeSync(handle, Buffer.alloc(2 ** 16));
  } catch {
    closeSync(handle);
  }
}

async function start(batchSize: number): Promise<Server> {
  const child = fork(path.join(import.meta.dirname, 'child.ts'), [
    storeDir,
    path.join(runDisk, 'files'),
    String(batchSize),
  ]);
  child.once('exit', () => {
    if (isWanted) aborts++;
  });
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { url, child };
}

async function send({ url }: Server, method: string, route: string, body?: object): Promise<Answer> {
  const response = await fetch(`${url}/swarm/v1${route}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => undefined);
  if (response === undefined) return { status: 0, body: {} };
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function claim(server: Server, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const wanted = Math.min(64, count - ids.length);
    const said = { claim_id: `c${ids.length}-${Date.now()}`, client: 'bench', life: 'bench', lease_seconds: 3600 };
    const { body } = await send(server, 'POST', '/episodes', { ...said, count: wanted, wait_seconds: 5 });
    const episodes = (body['episodes'] ?? []) as readonly { readonly episode_id: string }[];
    if (episodes.length === 0 && ids.length > 0) break; // the next batch is covered
    if (episodes.length === 0) throw new Error(`No episode: ${JSON.stringify(body)}`);
    ids.push(...episodes.map(({ episode_id }) => episode_id));
  }
  return ids;
}

const acknowledged = new Set<string>();
const refusals = new Map<string, number>();

/** Ends the episodes, and returns those whose end was not accepted. */
async function endAll(server: Server, ids: readonly string[]): Promise<readonly string[]> {
  const refused: string[] = [];
  await inParallel(ids, 12, async (id) => {
    const end = { client: 'bench', status: 'completed', reward: 1, metadata: { text: 'x'.repeat(bytes) } };
    const { status, body } = await send(server, 'POST', `/episodes/${id}/end`, end);
    if (status === 200) return void acknowledged.add(id);
    refused.push(id);
    const code = String((body['error'] as { readonly code?: string } | undefined)?.code ?? `no answer (${status})`);
    refusals.set(code, (refusals.get(code) ?? 0) + 1);
  });
  return refused;
}

async function waitFor(server: Server, isReached: (body: Answer['body']) => boolean): Promise<boolean> {
  for (let tries = 0; tries < 600; tries++) {
    const { body } = await send(server, 'GET', '/server');
    if (isReached(body)) return true;
    if (tries === 599) console.error(JSON.stringify(body));
    await sleep(100);
  }
  return false;
}

/** Returns what the server waits for. A server that cannot open its ledger answers with an error instead. */
function reasonOf(body: Answer['body']): unknown {
  const { waits_for: wait, error } = body as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  return error?.['code'] === 'store_full' ? 'disk' : wait?.['reason'];
}

async function kill({ child }: Server): Promise<void> {
  isWanted = false;
  child.kill('SIGKILL');
  await once(child, 'exit');
  isWanted = true;
}

mount(storeDisk, 40 * mebibytes);
mount(runDisk, 256 * mebibytes);
let server = await start(1_000_000);
const tasks = Array.from({ length: 500 }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
await send(server, 'POST', '/tasks', { tasks, total: 500 });
const ids = await claim(server, Math.min(12_000, Math.ceil((48 * mebibytes) / bytes) + 24));
const refused = await endAll(server, ids);
const isNamed = await waitFor(server, (body) => reasonOf(body) === 'disk');
const acceptedOnFullDisk = acknowledged.size;

// Kills the server on the full disk. A new server must continue when there is room.
await kill(server);
mount(storeDisk, 256 * mebibytes, false);
server = await start(32);
const left = await endAll(server, refused);

// Fills the disk of the run folder. Ends must be accepted, and training must continue when there is room.
if (!(await waitFor(server, (body) => Number(body['groups_pooled']) < 32))) throw new Error('The pool is not trained.');
const more = await claim(server, 64);
mount(runDisk, 160 * mebibytes, false);
const filler = path.join(runDisk, 'filler');
fillUp(filler);
const refusedByRun = await endAll(server, more);
const isRunNamed = await waitFor(server, (body) => reasonOf(body) === 'disk');
const later = await endAll(server, await claim(server, 4));
rmSync(filler);
mount(runDisk, 256 * mebibytes, false);
const isResumed = await waitFor(server, (body) => reasonOf(body) !== 'disk' && body['version'] === body['step']);
await kill(server);

const store = await LmdbStore.open(storeDir, { isReadOnly: true });
const { state } = foldStore(store);
const isKept = (id: string): boolean =>
  state.episodes.get(id)?.end !== undefined || state.finished.episode(id)?.bodyHash !== undefined;
const lost = [...acknowledged].filter((id) => !isKept(id));
await store.close();
const result = {
  bytes,
  aborts,
  acknowledged: acknowledged.size,
  acknowledged_lost: lost.length,
  accepted_on_small_disk: acceptedOnFullDisk,
  refused: refused.length,
  refused_after_room: left.length,
  refused_by_full_run_folder: refusedByRun.length + later.length,
  refusals: Object.fromEntries(refusals),
  reason_named: isNamed && isRunNamed,
  reasons: { ledger: isNamed, run_folder: isRunNamed },
  training_resumed: isResumed,
};
console.log(JSON.stringify(result));
process.exit(0);
