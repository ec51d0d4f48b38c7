/** A request that the server must refuse. */
export type Attack = {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sends only a part of the body, and then nothing. The connection is cut after this many milliseconds. */
  readonly stallsMs?: number;
  /** Set if the request has bytes that are not HTTP. */
  readonly isRaw?: true;
  /** Set if the request has a large body and no valid key. The body should not be read. */
  readonly isUnkeyed?: true;
};

export type Target = Readonly<
  Record<'running' | 'runningClaim' | 'runningKey' | 'ended' | 'otherKey' | 'observer' | 'worker' | 'expired', string>
>;

const api = '/swarm/v1';
const large = Buffer.alloc(12 * 2 ** 20, 'x');
const deep = '['.repeat(200_000);
const wide = `{"client":"bench","status":"completed","reward":1,"metadata":{${Array.from({ length: 50_000 }, (_none, at) => `"k${at}":[]`).join()}}}`;

/** Returns one request of each kind. A run repeats them in turn. */
export function createAttacks(target: Target): readonly Attack[] {
  return [...withoutKeys(target), ...withWrongRoles(target), ...withBadBodies(target), ...onModels(target), ...onWires];
}

const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });

const end = (reward: unknown): string => JSON.stringify({ client: 'bench', status: 'completed', reward });
const claimBody = JSON.stringify({ claim_id: 'evil', client: 'bench', life: 'bench' });

function withoutKeys({ running, expired, worker }: Target): readonly Attack[] {
  const wrong = `ajk_commander_${'0'.repeat(12)}_${'0'.repeat(64)}`;
  const stolen = `${worker.slice(0, -1)}${worker.endsWith('0') ? '1' : '0'}`;
  const keys: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['no key', {}],
    ['a wrong key', bearer(wrong)],
    ['a key with one wrong letter', bearer(stolen)],
    ['an expired key', bearer(expired)],
    ['a key of another kind', { authorization: 'Basic YWRtaW46YWRtaW4=' }],
    ['a prototype for a key', bearer('ajk_worker___proto___constructor')],
  ];
  return keys.flatMap(([name, headers]): readonly Attack[] => [
    { name: `${name}, to claim`, method: 'POST', path: `${api}/episodes`, headers, body: claimBody },
    { name: `${name}, to end`, method: 'POST', path: `${api}/episodes/${running}/end`, headers, body: end(1) },
    { name: `${name}, to read`, method: 'GET', path: `${api}/episodes`, headers },
    {
      name: `${name}, to make a key`,
      method: 'POST',
      path: `${api}/keys`,
      headers,
      body: '{"name":"x","role":"commander"}',
    },
    { name: `${name}, to stop the run`, method: 'POST', path: `${api}/run/stop`, headers, body: '{}' },
    { name: `${name}, with a large body`, method: 'POST', path: `${api}/tasks`, headers, body: large, isUnkeyed: true },
    { name: `${name}, slowly`, method: 'POST', path: `${api}/tasks`, headers, body: claimBody, stallsMs: 500 },
  ]);
}

function withWrongRoles({ observer, worker, runningKey, running, runningClaim, ended }: Target): readonly Attack[] {
  const orders: readonly (readonly [string, string, string])[] = [
    ['POST', `${api}/run/stop`, '{}'],
    ['PATCH', `${api}/run/config`, '{"request_id":"x","changes":{"trainer_common.optim.lr":1}}'],
    ['PUT', `${api}/shares`, '{"default":1}'],
    ['POST', `${api}/keys`, '{"name":"x","role":"commander"}'],
    ['DELETE', `${api}/keys/first`, ''],
    ['GET', `${api}/checkpoints`, ''],
    ['GET', `${api}/checkpoints/0/..%2f..%2fepisode-keys.secret`, ''],
    ['PUT', `${api}/groups/g0.0/rewards`, '{"revision":"x","replaces":null,"rewards":[{"episode_id":"x","reward":1}]}'],
  ];
  return [
    ...orders.flatMap(([method, path, body]) =>
      [observer, worker, runningKey].map(
        (key, at): Attack => ({
          name: `${['observer', 'worker', 'episode'][at]}'s key, ${method} ${path.replace(api, '').split('/').slice(0, 3).join('/')}`,
          method,
          path,
          headers: bearer(key),
          ...(body !== '' && { body }),
        }),
      ),
    ),
    {
      name: 'an observer, to claim',
      method: 'POST',
      path: `${api}/episodes`,
      headers: bearer(observer),
      body: claimBody,
    },
    {
      name: 'a foreign episode, to end',
      method: 'POST',
      path: `${api}/episodes/${running}/end`,
      headers: bearer(worker),
      body: end(1),
    },
    {
      name: 'a foreign episode, to end again',
      method: 'POST',
      path: `${api}/episodes/${ended}/end`,
      headers: bearer(worker),
      body: end(0),
    },
    {
      name: 'a foreign episode, to give back',
      method: 'POST',
      path: `${api}/episodes/${running}/abandon`,
      headers: bearer(worker),
      body: '{"client":"bench"}',
    },
    ...[
      { life: 'bench', episodes: [running] },
      { life: 'bench', episodes: [], leaving: true },
      { life: 'new', episodes: [] },
      { life: 'new', episodes: [], leaving: true },
    ].map(
      (beat): Attack => ({
        name: `a foreign client's name, life ${beat.life}, to ${beat.leaving === true ? 'leave' : 'go on'}`,
        method: 'POST',
        path: `${api}/heartbeats`,
        headers: bearer(worker),
        body: JSON.stringify({ client: 'bench', ...beat }),
      }),
    ),
    {
      name: "a foreign client's name, to claim",
      method: 'POST',
      path: `${api}/episodes`,
      headers: bearer(worker),
      body: '{"claim_id":"evil","client":"bench","life":"new"}',
    },
    {
      name: 'a foreign claim id, to claim',
      method: 'POST',
      path: `${api}/episodes`,
      headers: bearer(worker),
      body: JSON.stringify({ claim_id: runningClaim, client: 'mallory', life: 'm' }),
    },
  ];
}

/** Returns requests with a valid key and a body that must be refused. */
function withBadBodies({ worker, running }: Target): readonly Attack[] {
  const headers = bearer(worker);
  const endPath = `${api}/episodes/${running}/end`;
  const bodies: readonly (readonly [string, string, string | Uint8Array])[] = [
    ['no JSON', `${api}/episodes`, '{"claim_id":'],
    ['bytes', `${api}/episodes`, Buffer.from([0xff, 0xfe, 0x00, 0x7b])],
    ['a deep body', `${api}/tasks`, deep],
    ['a wide body', endPath, wide],
    ['a large body', `${api}/tasks`, large],
    ['not a number', endPath, '{"client":"bench","status":"completed","reward":NaN}'],
    ['an infinite reward', endPath, '{"client":"bench","status":"completed","reward":1e999}'],
    ['a reward beyond what can be trained', endPath, end(1.7e308)],
    ['a reward out of bounds', endPath, end(7)],
    ['a reward that is a string', endPath, end('1')],
    ['a prototype', `${api}/episodes`, '{"__proto__":{"count":9},"claim_id":"x","client":"y","life":"z"}'],
    ['an unknown field', `${api}/episodes`, '{"claim_id":"x","client":"y","life":"z","admin":true}'],
    ['many episodes', `${api}/episodes`, '{"claim_id":"x","client":"y","life":"z","count":100000}'],
    ['an end of nothing', `${api}/episodes/e0/end`, end(1)],
  ];
  return [
    ...bodies.map(([name, path, body]): Attack => ({ name, method: 'POST', path, headers, body })),
    { name: 'a slow sender', method: 'POST', path: endPath, headers, body: end(1), stallsMs: 500 },
    { name: 'a strange method', method: 'PATCH', path: `${api}/episodes`, headers, body: '{}' },
    { name: 'an unknown route', method: 'POST', path: `${api}/../../etc/passwd`, headers, body: '{}' },
    {
      name: 'another wire',
      method: 'POST',
      path: `${api}/episodes`,
      headers: { ...headers, 'x-ajet-wire': '99' },
      body: claimBody,
    },
    {
      name: 'a packed body',
      method: 'POST',
      path: `${api}/tasks`,
      headers: { ...headers, 'content-encoding': 'gzip' },
      body: '{}',
    },
  ];
}

/** Returns attacks on model calls. A key opens only one episode. */
function onModels({ running, otherKey, runningKey, worker, ended }: Target): readonly Attack[] {
  const chat = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  const call = (id: string): string => `/e/${id}/main/v1/chat/completions`;
  const ask = (name: string, key: string, more: Partial<Attack> = {}): Attack => ({
    name: `a call with ${name}`,
    method: 'POST',
    path: call(running),
    headers: key === '' ? {} : bearer(key),
    body: chat,
    ...more,
  });
  return [
    ask('no key', ''),
    ask("another episode's key", otherKey),
    ask("a worker's key", worker),
    ask('no key and a large body', '', { body: large, isUnkeyed: true }),
    ask('no key, slowly', '', { stallsMs: 500 }),
    ask("an episode's key, for one that is over", runningKey, { path: call(ended) }),
    ask('a large body', runningKey, { body: large }),
    ask('a deep body', runningKey, { body: deep }),
    ask('no JSON', runningKey, { body: '{"messages":' }),
    ask('no messages', runningKey, { body: '{"model":"m","messages":[]}' }),
    ask('an unknown address', runningKey, { path: `/e/${running}/main/v1/files` }),
    ask('a name that is too long', runningKey, { path: `/e/${running}/${'a'.repeat(500)}/v1/chat/completions` }),
    ask("an episode's key, at the swarm", runningKey, { path: `${api}/episodes`, body: claimBody }),
  ];
}

const onWires: readonly Attack[] = [
  {
    name: 'bytes that are not HTTP',
    method: '',
    path: '',
    body: Buffer.from('\u0016\u0003\u0001 hello\r\n\r\n'),
    isRaw: true,
  },
  {
    name: 'a broken header',
    method: '',
    path: '',
    body: 'POST /swarm/v1/episodes HTTP/1.1\r\nHost x\r\n\r\n',
    isRaw: true,
  },
  {
    name: 'a header of a megabyte',
    method: '',
    path: '',
    body: `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(2 ** 20)}\r\n\r\n`,
    isRaw: true,
  },
];
