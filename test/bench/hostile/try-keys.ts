import { routes, type Role } from '@agentjet/swarm-wire';
import { claimOf, endOf, rowsOf, type Guarded, type KeyName, type Sent } from './open-server.js';
import type { Tally } from './tally.js';

/** Tries every route with every key that must not open the route, and every share with keys of another share. */
export async function tryKeys(server: Guarded, tally: Tally): Promise<void> {
  const running = { a: await claimOf(server, 'worker', 'a'), b: await claimOf(server, 'other', 'b') };
  for (const { name, key, request } of [...onRoutes(running.a), ...onShares(running)]) {
    const { status, body } = await server.send(key, request);
    const isRefused = status >= 400 && status < 500;
    tally.count(`${key}: ${name}`, isRefused, `${status} ${JSON.stringify(body).slice(0, 200)}`);
  }
  await endOf(server, 'worker', running.a, { reward: 0 });
  await endOf(server, 'other', running.b, { reward: 0 });
}

type Attempt = { readonly name: string; readonly key: KeyName; readonly request: Sent };

const rank: Readonly<Record<Role, number>> = { observer: 0, worker: 1, commander: 2 };
const rankOf: Readonly<Record<KeyName, number>> = {
  none: -1,
  wrong: -1,
  expired: -1,
  deleted: -1,
  observer: rank.observer,
  worker: rank.worker,
  other: rank.worker,
  scorer: rank.worker,
  commander: rank.commander,
};

/** Tries each route with keys of lower roles, with real and unknown ids, and with several bodies. */
function onRoutes(running: string): readonly Attempt[] {
  const ids = [running, 'first', '..%2f..%2fkeys', '__proto__'];
  const bodies = [{}, { name: 'x', role: 'commander' }, { config: {}, request_id: 'x', changes: {} }, { default: 1 }];
  return routes.flatMap(({ method, path, role }) => {
    if (role === undefined) return [];
    const closed = (Object.keys(rankOf) as KeyName[]).filter((key) => rankOf[key] < rank[role]);
    const paths = path.includes('{') ? ids.map((id) => path.replaceAll(/\{\w+\}/g, id)) : [path];
    const given = method === 'get' || method === 'delete' ? [undefined] : bodies;
    return closed.flatMap((key) =>
      paths.flatMap((each) =>
        given.map((body): Attempt => {
          const request = { method: method.toUpperCase(), path: each, ...(body !== undefined && { body }) };
          return { name: `${request.method} ${path}`, key, request };
        }),
      ),
    );
  });
}

/** Sends requests about one share with keys of the other share. */
function onShares({ a, b }: Readonly<Record<'a' | 'b', string>>): readonly Attempt[] {
  const foreign = [
    { key: 'worker', share: 'b', episode: b, client: 'other' },
    { key: 'scorer', share: 'b', episode: b, client: 'other' },
    { key: 'other', share: 'a', episode: a, client: 'worker' },
  ] as const;
  return foreign.flatMap(({ key, share, episode, client }) =>
    requestsFor(share, episode, client).map(({ name, ...request }) => ({ name, key, request })),
  );
}

function requestsFor(share: string, episode: string, client: string): readonly (Sent & { readonly name: string })[] {
  const own = share === 'a' ? 'b' : 'a';
  const post = (name: string, path: string, body: unknown) => ({ name, method: 'POST', path, body });
  const claims = [[share], [own, share], [share, own]].flatMap((can) =>
    ['train', 'evaluation', 'any'].map((purpose) =>
      post('claims of another share', '/episodes', {
        claim_id: `${can.join()}${purpose}`,
        client: 'm',
        life: 'm',
        can,
        purpose,
      }),
    ),
  );
  const lists = ['train', 'evaluation'].flatMap((split) =>
    [1, 10, 50].flatMap((count) => [
      post('tasks of another share', '/tasks', { share, split, tasks: rowsOf(count, 'poison') }),
      post('a list of another share', '/tasks', { share, split, tasks: rowsOf(count, 'poison'), total: count }),
      post('a list that comes back', '/tasks', {
        share,
        split,
        tasks: rowsOf(count, 'poison'),
        total: count,
        again: true,
      }),
      post('a part of a list', '/tasks', { share, split, tasks: rowsOf(count, 'poison'), list: 'x', total: count }),
    ]),
  );
  const ends = ['completed', 'failed', 'outage'].flatMap((status) =>
    [client, 'mallory'].map((as) =>
      post('the end of a foreign episode', `/episodes/${episode}/end`, { client: as, status, reward: 0.5 }),
    ),
  );
  const abandons = [client, 'mallory'].map((as) =>
    post('a foreign episode, to give back', `/episodes/${episode}/abandon`, { client: as }),
  );
  const beats = [{ leaving: true }, { leaving: false }, { episodes: [episode] }].flatMap((beat) =>
    ['1', 'm'].map((life) => post('a foreign name', '/heartbeats', { client, life, episodes: [], ...beat })),
  );
  const group = share === 'a' ? 'g-a-0.0' : 'g-b-0.0';
  const rewards = [{ episode_id: episode, reward: 1 }];
  const scores = [null, 'r1'].map((replaces) => ({
    ...post('scores of another share', `/groups/${group}/rewards`, { revision: 'x', replaces, rewards }),
    method: 'PUT',
  }));
  return [...claims, ...lists, ...ends, ...abandons, ...beats, ...scores];
}
