import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { SwarmServer } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';

/** The shares of the server. The key of the worker is for `a`, and must not open `b`. */
const parts = { a: 0.5, b: 0.5 };

export type KeyName =
  | 'commander'
  | 'worker'
  | 'other'
  | 'scorer'
  | 'observer'
  | 'expired'
  | 'deleted'
  | 'wrong'
  | 'none';

export type Guarded = {
  readonly keys: Readonly<Record<KeyName, string>>;
  readonly send: (key: KeyName, request: Sent) => Promise<Answer>;
  readonly close: () => Promise<void>;
};

export type Sent = { readonly method: string; readonly path: string; readonly body?: unknown };
export type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** Opens a server in memory, with tasks in both shares and keys of all kinds. */
export async function openGuarded(): Promise<Guarded> {
  const disk = new MemoryDisk();
  const server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openTrainer: createCountingTrainer().open,
    settings: {
      ...testSettings,
      numPlaces: 4,
      capacity: 100_000,
      totalEpochs: 1_000_000,
      rules: { ...testSettings.rules, batchSize: 4, parts, failedEpisodePolicy: 'zero_reward' },
    },
  });
  const commander = server.firstKey ?? '';
  const ask = async (key: string, { method, path, body }: Sent): Promise<Answer> => {
    const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(`${server.url}/swarm/v1${path}`, { method, headers, signal, ...more });
    if (response.headers.get('content-type')?.includes('event-stream') === true) await response.body?.cancel();
    const text = response.bodyUsed ? '' : await response.text();
    return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as Answer['body']) : {} };
  };
  while (server.swarm?.describe().state !== 'rolling') await new Promise((resolve) => setTimeout(resolve, 10));
  const make = async (body: Readonly<Record<string, unknown>>): Promise<string> =>
    String((await ask(commander, { method: 'POST', path: '/keys', body })).body['key']);
  const soon = new Date(Date.now() + 500).toISOString();
  const limits = {
    requests_per_second: 1_000_000,
    bytes_per_second: 1_000_000_000,
    metric_names: 20,
    metadata_bytes: 2000,
  };
  const bounded = { role: 'worker', reward_bounds: [-1, 1], limits };
  const keys = {
    commander,
    worker: await make({ name: 'worker', shares: ['a'], ...bounded }),
    other: await make({ name: 'other', shares: ['b'], ...bounded }),
    scorer: await make({ name: 'scorer', shares: ['a'], scores: ['a'], ...bounded }),
    observer: await make({ name: 'observer', role: 'observer', limits: { requests_per_second: 1_000_000 } }),
    expired: await make({ name: 'expired', role: 'commander', expires_at: soon }),
    deleted: await make({ name: 'deleted', role: 'commander' }),
    wrong: `ajk_commander_${'0'.repeat(12)}_${'0'.repeat(64)}`,
    none: '',
  };
  await ask(commander, { method: 'DELETE', path: '/keys/deleted' });
  for (const share of Object.keys(parts))
    await ask(commander, { method: 'POST', path: '/tasks', body: { share, total: 50, tasks: rowsOf(50) } });
  while (Date.now() <= Date.parse(soon)) await new Promise((resolve) => setTimeout(resolve, 50));
  return { keys, send: (key, request) => ask(keys[key], request), close: () => server.close() };
}

export const rowsOf = (count: number, hash = 'h') =>
  Array.from({ length: count }, (_none, index) => {
    const task = { task_id: `t${index}`, main_query: `${hash} ${index}` };
    return { task_id: task.task_id, index, hash, task };
  });

let numClaims = 0;

/** Claims an episode of a share. Returns its id, or undefined if the share has no open place now. */
export async function tryClaim({ send }: Guarded, key: KeyName, share: string): Promise<string | undefined> {
  const body = { claim_id: `c${numClaims++}`, client: key, life: '1', can: [share] };
  const { body: answer } = await send(key, { method: 'POST', path: '/episodes', body });
  const [episode] = answer['episodes'] as readonly { readonly episode_id: string }[];
  return episode?.episode_id;
}

/** Claims an episode of a share as soon as it has an open place. */
export async function claimOf(server: Guarded, key: KeyName, share: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const episodeId = await tryClaim(server, key, share);
    if (episodeId !== undefined) return episodeId;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The key "${key}" got no episode of the share "${share}".`);
}

export const endOf = ({ send }: Guarded, key: KeyName, episodeId: string, end: object): Promise<Answer> =>
  send(key, {
    method: 'POST',
    path: `/episodes/${episodeId}/end`,
    body: { client: key, status: 'completed', ...end },
  });
