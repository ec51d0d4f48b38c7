import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { SwarmServer } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';

let disk = new MemoryDisk();
let trainer = createCountingTrainer();
let servers: SwarmServer[] = [];
let commander = '';
let numClaims = 0;

beforeEach(() => {
  disk = new MemoryDisk();
  trainer = createCountingTrainer();
  servers = [];
});
afterEach(() => Promise.all(servers.map((server) => server.close())));

const shared = { ...testSettings.rules, batchSize: 4, parts: { a: 0.6, b: 0.4 } };

async function start(rules: Partial<typeof testSettings.rules> = {}, more: object = {}): Promise<SwarmServer> {
  const server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openTrainer: trainer.open,
    settings: { ...testSettings, numPlaces: 1, rules: { ...shared, ...rules }, ...more },
  });
  servers.push(server);
  commander = server.firstKey ?? commander;
  await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
  return server;
}

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

async function send(
  { url }: SwarmServer,
  route: string,
  body: unknown,
  { method = 'POST', key = commander, headers = {} } = {},
): Promise<Answer> {
  const response = await fetch(`${url}/swarm/v1${route}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const messageOf = ({ body }: Answer): string => String((body['error'] as { readonly message: string }).message);

function tell(server: SwarmServer, share: string, count = 8): Promise<Answer> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: share }));
  return send(server, '/tasks', { tasks, total: count, share });
}

type Claimed = {
  readonly episode_id: string;
  readonly group_id: string;
  readonly share: string;
  readonly task_id: string;
  readonly task?: { readonly main_query: string };
};

async function claim(server: SwarmServer, can: readonly string[], more: object = {}): Promise<Claimed | undefined> {
  const body = { claim_id: `c${numClaims++}`, client: can.join(), life: 'one', can, ...more };
  const { status, body: answer } = await send(server, '/episodes', body);
  if (status >= 400) throw new Error(JSON.stringify(answer));
  return (answer['episodes'] as readonly Claimed[])[0];
}

const end = (server: SwarmServer, { episode_id }: Claimed, client: string): Promise<Answer> =>
  send(server, `/episodes/${episode_id}/end`, { client, status: 'completed', reward: Math.random() });

/** Runs the episodes that a client of these shares gets, but at most `most` of them. */
async function runAll(server: SwarmServer, can: readonly string[], most = 100): Promise<string> {
  let shares = '';
  for (let count = 0; count < most; count++) {
    const episode = await claim(server, can);
    if (episode === undefined) return shares;
    shares += episode.share;
    await end(server, episode, can.join());
  }
  return shares;
}

const stepOf = (server: SwarmServer): number | undefined => server.swarm?.describe().version;

it('a claim gets tasks of the shares that it names, and no more of them than their part', async () => {
  const server = await start();
  await tell(server, 'a');
  await tell(server, 'b');
  expect(await runAll(server, ['a'])).toBe('aa');
  expect(await runAll(server, ['a'])).toBe('');
  expect(await runAll(server, ['b'], 2)).toBe('bb');
  await expect.poll(() => stepOf(server)).toBe(1);
  expect(server.swarm?.describe().shares).toMatchObject({
    a: { part: 0.6, tasks: 8, trained: 2, lent: 0, asked: 2, got: 2 },
  });
  const metrics = await fetch(`${server.url}/swarm/v1/metrics`, { headers: { authorization: `Bearer ${commander}` } });
  expect(await metrics.text()).toContain('agentjet_swarm_share_batch_got{share="b"} 2');
});

it('a share that the run does not have is refused by name, in claims and in tasks', async () => {
  const server = await start();
  const request = { claim_id: 'c', client: 'me', life: 'one' };
  const unknown = await send(server, '/episodes', { ...request, can: ['a', 'lake'] });
  expect([unknown.status, messageOf(unknown)]).toEqual([404, expect.stringContaining('There is no share "lake" here')]);
  const unnamed = await send(server, '/episodes', request);
  expect(messageOf(unnamed)).toBe('This run has the shares "a", "b". Say which of them this client runs.');
  expect((await tell(server, 'lake')).status).toBe(404);
  expect((await send(server, '/episodes', { ...request, can: ['../x'] })).status).toBe(400);
});

it("a worker's key adds tasks to its own shares only, and the audit names who added tasks", async () => {
  const server = await start();
  const made = await send(server, '/keys', { name: 'lab', role: 'worker', shares: ['b'] });
  const key = String(made.body['key']);
  const tasks = [{ task_id: 't0', index: 0, hash: 'h' }];
  const add = (share: string) => send(server, '/tasks', { tasks, total: 1, share }, { key });
  expect((await add('a')).status).toBe(403);
  expect((await add('b')).body).toEqual({ added: 1, known: 0, total: 1 });
  await add('b');
  const { body } = await send(server, '/audit', {}, { method: 'GET' });
  const added = (body['entries'] as readonly { readonly what: string }[]).filter(({ what }) => what === 'tasks_added');
  expect(added).toMatchObject([{ by: 'lab', detail: { share: 'b', split: 'train', tasks: 1 } }]);
});

it('a changed list replaces the list of a share as a whole: old groups keep their tasks, new ones come from it', async () => {
  let server = await start({}, { numPlaces: 2 });
  const rowsOf = (hash: string, from: number, count: number) =>
    Array.from({ length: count }, (_none, index) => {
      const task = { task_id: `t${from + index}`, main_query: `${hash} t${from + index}` };
      return { task_id: task.task_id, index, hash, task };
    });
  const former = { share: 'a', tasks: rowsOf('h', 0, 8), total: 8 };
  await send(server, '/tasks', former);
  const key = String((await send(server, '/keys', { name: 'lab', role: 'worker', shares: ['a'] })).body['key']);
  const old = await claim(server, ['a']);
  const rows = rowsOf('new', 6, 6);
  const list = { share: 'a', list: 'edited' };
  const half = await send(server, '/tasks', { ...list, tasks: rows.slice(0, 3) }, { key });
  expect(half.body).toEqual({ added: 3, known: 0, total: 8 });
  const lost = await send(server, '/tasks', { share: 'a', list: 'x', tasks: rows.slice(3), total: 6 }, { key });
  expect([lost.status, lost.body]).toMatchObject([409, { error: { code: 'tasks_missing' } }]);
  const replaced = await send(server, '/tasks', { ...list, tasks: rows.slice(3), total: 6 }, { key });
  expect(replaced.body).toEqual({ added: 6, known: 0, total: 6, replaced: 1 });
  expect((await send(server, '/tasks', { ...list, tasks: rows, total: 6 }, { key })).body).toMatchObject({ added: 0 });
  await server.close();
  server = await start({}, { numPlaces: 2 });
  const sibling = await claim(server, ['a']); // claims the other place of the group that was drawn before
  expect(sibling).toMatchObject({ group_id: old?.group_id, task_id: old?.task_id, task_hash: 'h' });
  expect(sibling?.task?.main_query).toBe(`h ${old?.task_id}`);
  const fresh = await claim(server, ['a']);
  expect(fresh).toMatchObject({ task: { main_query: `new ${fresh?.task_id}` }, task_hash: 'new' });
  const back = await send(server, '/tasks', former);
  expect([back.status, messageOf(back)]).toEqual([409, expect.stringContaining('was replaced by a newer one')]);
  const { body } = await send(server, '/audit', {}, { method: 'GET' });
  expect(body['entries']).toContainEqual(
    expect.objectContaining({ by: 'lab', what: 'tasks_replaced', detail: expect.objectContaining({ share: 'a' }) }),
  );
  expect((await send(server, '/tasks', { ...former, again: true })).body).toMatchObject({ total: 8, replaced: 2 });
});

it('a complete table takes no other task, so that tasks are still drawn from it', async () => {
  const server = await start();
  await tell(server, 'a');
  const other = [{ task_id: 'poison', index: 8, hash: 'h' }];
  const refused = await send(server, '/tasks', { tasks: other, share: 'a' });
  expect([refused.status, messageOf(refused)]).toEqual([409, expect.stringContaining('"poison" is not one of the 8')]);
  expect((await tell(server, 'a')).body).toEqual({ added: 0, known: 8, total: 8 });
  expect(await claim(server, ['a'])).toMatchObject({ share: 'a' });
});

it('the same task id may be in two shares', async () => {
  const server = await start();
  expect((await tell(server, 'a')).body).toEqual({ added: 8, known: 0, total: 8 });
  expect((await tell(server, 'b')).body).toEqual({ added: 8, known: 0, total: 8 });
  expect((await tell(server, 'b')).body).toEqual({ added: 0, known: 8, total: 8 });
});

it('other parts hold from the first batch that has not begun, are reported once, and outlive a restart with the carry', async () => {
  const server = await start();
  await tell(server, 'a', 40);
  await tell(server, 'b', 40);
  expect(await runAll(server, ['a'])).toBe('aa');
  const put = (parts: object) => send(server, '/shares', parts, { method: 'PUT' });
  expect((await put({ a: 0.3, b: 0.7 })).body).toEqual({ revision: 1, from_step: 2 });
  expect((await put({ a: 0.3, b: 0.7 })).body).toEqual({ revision: 1, from_step: 2 });
  expect(messageOf(await put({ a: 0.3, b: 0.6 }))).toContain('they must add up to 1');
  expect(await runAll(server, ['a', 'b'], 2)).toBe('bb');
  await expect.poll(() => stepOf(server)).toBe(1);
  expect(await runAll(server, ['a', 'b'], 4)).toBe('bbab');
  await expect.poll(() => stepOf(server)).toBe(2);
  const before = server.swarm?.context.ledger.state.shares;
  await server.close();
  const next = await start();
  expect(next.swarm?.context.ledger.state.shares).toEqual(before);
  expect(next.swarm?.describe().shares).toMatchObject({ a: { part: 0.3 }, b: { part: 0.7 } });
});

it('an elastic share without a client lends its places, and has them again when one comes', async () => {
  const server = await start({ isElastic: true }, { sharePatienceMs: 50 });
  await tell(server, 'a', 40);
  await tell(server, 'b', 40);
  await expect.poll(() => runAll(server, ['a']).then(() => stepOf(server))).toBeGreaterThan(0);
  const { b } = server.swarm?.describe().shares ?? {};
  expect(b?.lent).toBeGreaterThan(0);
  expect(b?.trained).toBe(0);
  const both = async () => (await runAll(server, ['b'])) + (await runAll(server, ['a']));
  await expect.poll(() => both().then(() => server.swarm?.describe().shares?.['b']?.trained)).toBeGreaterThan(0);
});

it('a claim that waits is answered as soon as a share without a client lends its places', async () => {
  const server = await start({ isElastic: true }, { sharePatienceMs: 1500 });
  await tell(server, 'a', 40);
  await tell(server, 'b', 40);
  let count = 0;
  for (let next = await claim(server, ['a']); next !== undefined; next = await claim(server, ['a'])) count++;
  expect(count).toBeLessThanOrEqual(3); // this is its part of the batch
  expect(await claim(server, ['a'], { wait_seconds: 30 })).toMatchObject({ share: 'a' });
}, 20_000); // this is shorter than the wait of the claim

it('a key for some shares claims no other, and scores no other', async () => {
  const server = await start();
  await tell(server, 'a');
  const made = await send(server, '/keys', { name: 'w', role: 'worker', shares: ['a'], scores: ['a'] });
  const key = String(made.body['key']);
  const request = { claim_id: 'k', client: 'w', life: 'one' };
  expect((await send(server, '/episodes', { ...request, can: ['b'] }, { key })).status).toBe(403);
  expect((await send(server, '/episodes', { ...request, can: ['a'] }, { key })).status).toBe(201);
});

it('a run that waits for its clients makes a step when one asks for it', async () => {
  const server = await start({ collection: 'any_client_asks' });
  await tell(server, 'a', 40);
  await tell(server, 'b', 40);
  expect(await runAll(server, ['a', 'b'], 6)).toHaveLength(6);
  expect(stepOf(server)).toBe(0);
  const beat = { client: 'a,b', life: 'one', episodes: [], asks_after: 0 };
  expect((await send(server, '/heartbeats', beat)).status).toBe(200);
  await expect.poll(() => stepOf(server)).toBe(1);
  await send(server, '/heartbeats', beat); // a late copy asks for nothing new
  expect(await claim(server, ['a', 'b'])).toBeDefined();
  expect(stepOf(server)).toBe(1);
});

it.each(['any_client_asks', 'any_client_agree_sync_weight'])(
  'what a batch waits for can change while it runs: %s',
  async (name) => {
    const server = await start();
    await tell(server, 'a', 40);
    await tell(server, 'b', 40);
    const body = { request_id: 'r', changes: { 'swarm.sample_collection': name } };
    expect((await send(server, '/run/config', body, { method: 'PATCH', headers: { 'if-match': '0' } })).status).toBe(
      200,
    );
    expect(await runAll(server, ['a', 'b'], 6)).toHaveLength(6); // a batch has four
    expect(stepOf(server)).toBe(0);
    await send(server, '/heartbeats', { client: 'a,b', life: 'one', episodes: [], asks_after: 0 });
    await expect.poll(() => stepOf(server)).toBe(1);
  },
);

it('the last groups of a share stay open for its clients once its tasks are through', async () => {
  const server = await start({ isElastic: true }, { numPlaces: 2, totalEpochs: 1, sharePatienceMs: 60_000 });
  await tell(server, 'a', 1);
  await tell(server, 'b', 8);
  const first = await claim(server, ['a']);
  await expect.poll(() => claim(server, ['b'])).toBeDefined(); // the server has looked at its groups in the meantime
  await new Promise((resolve) => setTimeout(resolve, 5 * testSettings.tickMs));
  const second = await claim(server, ['a']);
  expect(second?.task_id).toBe('t0');
  for (const episode of [first, second])
    expect((await end(server, episode as Claimed, 'a')).body).toMatchObject({ state: 'pooled' });
});
