import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { createRunConfig, SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';
import type { TrainerPort } from '@agentjet/swarm-server/swarm';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { errorSchema } from '@agentjet/swarm-wire';
import { configuration } from 'agentjet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let disk = new MemoryDisk();
let trainer = createCountingTrainer();
let servers: SwarmServer[] = [];
let commander = '';
let dir = '';

async function start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
  const server = await SwarmServer.start({
    openStore: async () => new MemoryStore(disk),
    openTrainer: trainer.open,
    settings: testSettings,
    ...options,
  });
  servers.push(server);
  commander = server.firstKey ?? commander;
  await expect.poll(() => server.swarm?.describe().state).toMatch(/^(rolling|complete)$/);
  return server;
}

beforeEach(() => {
  disk = new MemoryDisk();
  trainer = createCountingTrainer();
  servers = [];
  dir = mkdtempSync(path.join(tmpdir(), 'swarm-routes-'));
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  rmSync(dir, { recursive: true, force: true });
});

type Sent = { readonly body?: unknown; readonly key?: string; readonly headers?: Readonly<Record<string, string>> };
type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

function ask({ url }: SwarmServer, method: string, route: string, sent: Sent = {}): Promise<Response> {
  const { body, key = commander, headers = {} } = sent;
  return fetch(`${url}/swarm/v1${route}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function send(server: SwarmServer, method: string, route: string, sent: Sent = {}): Promise<Answer> {
  const response = await ask(server, method, route, sent);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const codeOf = ({ status, body }: Answer): readonly [number, string] => [status, errorSchema.parse(body).error.code];

async function postTasks(server: SwarmServer, count: number, split: 'train' | 'evaluation' = 'train'): Promise<void> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  expect((await send(server, 'POST', '/tasks', { body: { tasks, total: count, split } })).status).toBe(200);
}

type Claimed = { readonly episode_id: string; readonly place: number; readonly purpose: string };

async function claim(server: SwarmServer, claimId: string, key = commander): Promise<Claimed | undefined> {
  return (await claimAnswer(server, claimId, key)).episodes[0];
}

type ClaimAnswer = { readonly episodes: readonly Claimed[]; readonly reason?: string };

async function claimAnswer(server: SwarmServer, claimId: string, key = commander): Promise<ClaimAnswer> {
  const body = { claim_id: claimId, client: 'me', life: 'one' };
  return (await send(server, 'POST', '/episodes', { body, key })).body as ClaimAnswer;
}

async function end(server: SwarmServer, episodeId: string, more: object = {}): Promise<Answer> {
  const body = { client: 'me', status: 'completed', reward: 1, ...more };
  return send(server, 'POST', `/episodes/${episodeId}/end`, { body });
}

/** Runs all episodes that a client gets. The reward of an episode is the number of its place. */
async function runAll(server: SwarmServer, prefix: string): Promise<void> {
  for (let index = 0; ; index++) {
    const episode = await claim(server, `${prefix}${index}`);
    if (episode === undefined) return;
    await end(server, episode.episode_id, { reward: episode.place });
  }
}

describe('what the server reports', () => {
  it('waits for a change, and answers at once if the caller missed one or comes from another life', async () => {
    const server = await start();
    const { change } = (await send(server, 'GET', '/server')).body as { readonly change: number };
    const waiting = send(server, 'GET', `/server?after=${change}&wait=30`);
    await postTasks(server, 1);
    expect(((await waiting).body as { readonly change: number }).change).toBeGreaterThan(change);
    expect((await send(server, 'GET', '/server?after=999999&wait=30')).status).toBe(200);
    expect(codeOf(await send(server, 'GET', '/server?after=x'))).toEqual([400, 'invalid_request']);
  });

  it('sends what is committed as events, and continues after the last one that a client has seen', async () => {
    const server = await start();
    await postTasks(server, 1);
    const first = await ask(server, 'GET', '/events');
    const id = (await claim(server, 'c'))?.episode_id ?? '';
    const seen = await readUntil(first, 'event: claim');
    expect(seen).toContain(id);
    const lastId = /id: (\d+)\nevent: claim/.exec(seen)?.[1] ?? '';
    await end(server, id);
    const again = await ask(server, 'GET', '/events', { headers: { 'last-event-id': lastId } });
    const since = await readUntil(again, 'event: end');
    expect(since).not.toContain('event: claim');
    expect(since).toContain('"status":"completed"');
  });

  it('reports figures in the format of Prometheus', async () => {
    const server = await start();
    await postTasks(server, 3);
    const text = await (await ask(server, 'GET', '/metrics')).text();
    expect(text).toContain('agentjet_swarm_tasks 3');
    expect(text).toContain('agentjet_swarm_episodes{fate="acknowledged"} 0');
    expect(text).toContain('agentjet_swarm_state{state="rolling"} 1');
  });

  it('lists episodes page by page', async () => {
    const server = await start();
    await postTasks(server, 1);
    const ids = [(await claim(server, 'a'))?.episode_id, (await claim(server, 'b'))?.episode_id];
    const page = (await send(server, 'GET', '/episodes?limit=1')).body as { readonly next: string };
    expect(page).toMatchObject({ episodes: [{ episode_id: ids[0], state: 'running' }], next: ids[0] });
    const next = await send(server, 'GET', `/episodes?limit=1&after=${page.next}`);
    expect(next.body).toEqual({ episodes: [expect.objectContaining({ episode_id: ids[1] })] });
  });
});

/** Reads a stream until the text has come. */
async function readUntil(response: Response, text: string): Promise<string> {
  let read = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    read += decoder.decode(chunk as Uint8Array);
    if (read.includes(text) && read.endsWith('\n\n')) return read;
  }
  throw new Error(`The stream ended without ${JSON.stringify(text)}: ${read}`);
}

describe('checkpoints', () => {
  it('are listed, and their listed files are sent whole or in part', async () => {
    mkdirSync(path.join(dir, 'step-000002', 'trainer_state'), { recursive: true });
    writeFileSync(path.join(dir, 'step-000002', 'config.json'), '0123456789');
    writeFileSync(path.join(dir, 'step-000002', 'trainer_state', 'state.json'), '{}');
    writeFileSync(path.join(dir, 'secret'), 'no');
    const server = await start({ app: { checkpoints: { '': dir } } });
    const files = [
      { name: 'config.json', bytes: 10 },
      { name: 'trainer_state/state.json', bytes: 2 },
    ];
    expect((await send(server, 'GET', '/checkpoints')).body).toEqual({ checkpoints: [{ step: 2, files }] });
    const whole = await ask(server, 'GET', '/checkpoints/2/config.json');
    expect([whole.status, await whole.text()]).toEqual([200, '0123456789']);
    const part = await ask(server, 'GET', '/checkpoints/2/config.json', { headers: { range: 'bytes=3-5' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 3-5/10', '345']);
    const tail = await ask(server, 'GET', '/checkpoints/2/config.json', { headers: { range: 'bytes=-2' } });
    expect(await tail.text()).toBe('89');
    const beyond = await ask(server, 'GET', '/checkpoints/2/config.json', { headers: { range: 'bytes=10-' } });
    expect(beyond.status).toBe(416);
    for (const file of ['..%2Fsecret', '../secret', 'trainer_state', 'none'])
      expect((await ask(server, 'GET', `/checkpoints/2/${file}`)).status).toBe(404);
  });

  it('are made when an operator asks, and after the last step', async () => {
    const server = await start({ settings: { ...testSettings, saveFreq: 0, totalEpochs: 1 } });
    await postTasks(server, 4);
    await runAll(server, 'c');
    await expect.poll(() => server.swarm?.context.ledger.state.checkpoints.size).toBe(1);
    const asked = await send(server, 'POST', '/run/checkpoint', { headers: { 'idempotency-key': 'mine' } });
    expect(asked).toMatchObject({ status: 202, body: { operation_id: 'mine', operation: 'checkpoint' } });
    await expect
      .poll(async () => (await send(server, 'GET', '/operations/mine')).body)
      .toEqual({ operation_id: 'mine', operation: 'checkpoint', state: 'done' });
    expect(codeOf(await send(server, 'GET', '/operations/other'))).toEqual([404, 'unknown_operation']);
  });
});

describe('the run', () => {
  it('is paused, resumed and stopped; the same aim again is done at once', async () => {
    const server = await start();
    await postTasks(server, 2);
    expect((await send(server, 'POST', '/run/pause')).status).toBe(202);
    expect((await send(server, 'POST', '/run/pause')).status).toBe(200);
    const { body } = await send(server, 'POST', '/episodes', { body: { claim_id: 'c', client: 'me', life: 'one' } });
    expect(body).toMatchObject({ episodes: [], reason: 'paused' });
    expect((await send(server, 'POST', '/run/resume')).status).toBe(202);
    expect(await claim(server, 'd')).toBeDefined();
    await send(server, 'POST', '/run/stop');
    expect((await send(server, 'GET', '/server')).body).toMatchObject({ state: 'offline', running: 0 });
    expect(codeOf(await send(server, 'POST', '/run/explode'))).toEqual([404, 'unknown_operation']);
  });

  it('takes changes of what may change, and says why it does not take others', async () => {
    const config = createRunConfig('run-1', configuration.create({}), configuration);
    const server = await start({ app: { config } });
    const patch = (changes: object, revision = 0): Promise<Answer> =>
      send(server, 'PATCH', '/run/config', {
        body: { request_id: JSON.stringify(changes), changes },
        headers: { 'if-match': String(revision) },
      });
    expect((await patch({ 'trainer_common.optim.lr': 0.001 })).body).toEqual({ revision: 1, from_step: 1 });
    expect((await patch({ 'trainer_common.optim.lr': 0.001 })).body).toEqual({ revision: 1, from_step: 1 });
    expect(codeOf(await patch({ 'trainer_common.optim.lr': 0.002 }))).toEqual([412, 'revision_conflict']);
    expect(codeOf(await patch({ 'trainer_common.optim.rate': 1 }, 1))).toEqual([422, 'unknown_config']);
    expect(codeOf(await patch({ 'trainer_common.optim.lr': 'high' }, 1))).toEqual([422, 'unknown_config']);
    expect(codeOf(await patch({ 'rollout.temperature': 0.5 }, 1))).toEqual([409, 'needs_reload']);
    expect(codeOf(await patch({ 'model.path': 'nano' }, 1))).toEqual([409, 'needs_new_run']);
    expect(codeOf(await patch({ 'rollout.user_workflow': 'evil.ts->Evil' }, 1))).toEqual([422, 'unknown_config']);
  });

  it('makes a change once, says so once in the audit, and refuses its id for another change', async () => {
    const first = await start();
    const patch = (server: SwarmServer, changes: object, revision = 0): Promise<Answer> =>
      send(server, 'PATCH', '/run/config', {
        body: { request_id: 'r', changes },
        headers: { 'if-match': String(revision) },
      });
    const change = { 'trainer_common.save_freq': 5 };
    expect((await patch(first, change)).body).toEqual({ revision: 1, from_step: 1 });
    expect((await patch(first, change)).body).toEqual({ revision: 1, from_step: 1 });
    await first.close();
    const server = await start();
    expect((await patch(server, change)).body).toEqual({ revision: 1, from_step: 1 });
    expect(codeOf(await patch(server, { 'trainer_common.save_freq': 6 }, 1))).toEqual([409, 'name_taken']);
    const headers = { 'idempotency-key': 's' };
    const share = (body: object) => send(server, 'PUT', '/shares', { body, headers });
    expect((await share({ default: 0.5, b: 0.5 })).body).toEqual({ revision: 2, from_step: 1 });
    expect((await share({ default: 0.5, b: 0.5 })).body).toEqual({ revision: 2, from_step: 1 });
    expect(codeOf(await share({ default: 0.4, b: 0.6 }))).toEqual([409, 'name_taken']);
    const detail = { changes: change, revision: 1, from_step: 1 };
    expect((await send(server, 'GET', '/audit')).body).toMatchObject({
      entries: [
        { by: 'first', what: 'configure', detail },
        { what: 'shares', detail: { shares: { default: 0.5, b: 0.5 }, revision: 2, from_step: 1 } },
      ],
    });
  });

  it('obeys an order once, says so once in the audit, and refuses its id for another order', async () => {
    const server = await start();
    const order = (operation: string, id: string): Promise<Answer> =>
      send(server, 'POST', `/run/${operation}`, { headers: { 'idempotency-key': id } });
    const paused = { operation_id: 'one', operation: 'pause', state: 'done' };
    expect(await order('pause', 'one')).toEqual({ status: 202, body: paused });
    expect((await order('resume', 'two')).status).toBe(202);
    expect(await order('pause', 'one')).toEqual({ status: 200, body: paused });
    expect((await send(server, 'GET', '/server')).body).toMatchObject({ state: 'rolling' });
    expect((await send(server, 'GET', '/operations/one')).body).toEqual(paused);
    for (const operation of ['drain', 'checkpoint'])
      expect(codeOf(await order(operation, 'one'))).toEqual([409, 'name_taken']);
    const { entries } = (await send(server, 'GET', '/audit')).body as { readonly entries: readonly object[] };
    expect(entries).toMatchObject([{ what: 'pause' }, { what: 'resume' }]);
    const pages = await Promise.all(['0', '1'].map((after) => send(server, 'GET', `/audit?after=${after}&limit=1`)));
    expect(pages.map(({ body }) => body)).toEqual([{ entries: [entries[0]], next: 1 }, { entries: [entries[1]] }]);
    expect(codeOf(await send(server, 'GET', '/audit?after=last'))).toEqual([400, 'invalid_request']);
  });

  it('takes for one of several policies what may be its own, and no way to wait that needs one policy', async () => {
    const policies = { planner: { trainableTargets: ['a'] }, worker: { trainableTargets: ['b'] } };
    const config = createRunConfig('run-1', configuration.create({ swarm: { policies } }), configuration);
    const takes = (changes: object) => () => config.requireChangeable(changes as Readonly<Record<string, unknown>>);
    expect(takes({ 'swarm.policies.worker.trainer_common.optim.lr': 0.001 })).not.toThrow();
    expect(takes({ 'swarm.sample_collection': 'finish_enough_episodes' })).not.toThrow();
    const ofTheRun = /sets rollout\.num_repeat, which concerns the whole run/;
    expect(takes({ 'swarm.policies.worker.rollout.num_repeat': 2 })).toThrow(ofTheRun);
    expect(takes({ 'swarm.policies.worker.swarm.share_mode': 'strict' })).toThrow(/concerns the whole run/);
    expect(takes({ 'swarm.sample_collection': 'any_client_asks' })).toThrow(/the steps of one policy only/);
  });

  it('is opened again with the same configuration, and with no other', async () => {
    const config = createRunConfig('run-1', configuration.create({}), configuration);
    const server = await start({ app: { config } });
    const put = (given: object): Promise<Answer> => send(server, 'PUT', '/run', { body: { config: given } });
    expect(await put({ rollout: { num_repeat: 8 } })).toEqual({ status: 200, body: { run: 'run-1', revision: 0 } });
    expect(codeOf(await put({ rollout: { num_repeat: 4 } }))).toEqual([409, 'other_run']);
    expect(codeOf(await put({ rollout: { num_repeats: 8 } }))).toEqual([422, 'unknown_config']);
    expect(codeOf(await put({ task_judge: { judge_type: 'mine' } }))).toEqual([422, 'unknown_config']);
  });

  it('changes how many places the groups have that are opened afterwards', async () => {
    const server = await start();
    await postTasks(server, 2);
    const body = { request_id: 'r', changes: { 'rollout.num_repeat': 1 } };
    await send(server, 'PATCH', '/run/config', { body, headers: { 'if-match': '0' } });
    await claim(server, 'c');
    expect([...(server.swarm?.context.ledger.state.groups.values() ?? [])][0]?.places).toHaveLength(1);
  });
});

it.each([
  ['after every step', 1, [0, 1, 2]],
  ['before and after training alone', 0, [0, 2]],
])(
  'runs evaluations first, at the version of their step, and trains none of them: %s',
  async (_when, testFreq, due) => {
    const server = await start({
      settings: {
        ...testSettings,
        testFreq,
        numEvaluationTasks: Infinity,
        evaluatesFirst: true,
        evaluationPatienceMs: 60_000,
      },
    });
    await postTasks(server, 2, 'evaluation');
    await postTasks(server, 2);
    await expect.poll(async () => (await claim(server, 'first'))?.purpose).toBe('evaluation');
    const { purposes } = await finish(server);
    expect(purposes.slice(0, 1)).toEqual(['evaluation']);
    await expect.poll(() => server.swarm?.describe().account).toMatchObject({ evaluated: 2 * due.length, trained: 8 });
    const evaluations = [...(server.swarm?.context.ledger.state.evaluations.values() ?? [])];
    expect(evaluations.map(({ step, restsOn }) => [step, restsOn])).toEqual(due.map((step) => [step, 2]));
  },
);

it('sends a client away that waits for the evaluation of the last step, if there are no evaluation tasks', async () => {
  const server = await start({ settings: { ...testSettings, testFreq: 1, numEvaluationTasks: Infinity } });
  await postTasks(server, 2);
  const { purposes } = await finish(server);
  expect(purposes.filter((purpose) => purpose === 'train')).toHaveLength(7);
});

/** Claims and ends episodes until the server has no more tasks for any client. The first episode is not counted. */
async function finish(server: SwarmServer): Promise<{ readonly purposes: readonly string[] }> {
  const purposes: string[] = [];
  await end(server, (await claim(server, 'first'))?.episode_id ?? '');
  for (let index = 0; ; index++) {
    const { episodes, reason } = await claimAnswer(server, `n${index}`);
    if (reason === 'no_task') break;
    const [episode] = episodes;
    if (episode === undefined) continue;
    purposes.push(episode.purpose);
    await end(server, episode.episode_id, { reward: episode.place });
  }
  return { purposes };
}

describe('keys', () => {
  it('end only what they claimed, within their bounds, and give it back when they are deleted', async () => {
    const server = await start();
    await postTasks(server, 2);
    const make = async (body: object): Promise<string> =>
      String((await send(server, 'POST', '/keys', { body })).body['key']);
    const lab = await make({ name: 'lab', role: 'worker', reward_bounds: [0, 1], max_episodes: 1 });
    const other = await make({ name: 'other', role: 'worker' });
    const id = (await claim(server, 'a', lab))?.episode_id ?? '';
    expect(await claim(server, 'b', lab)).toBeUndefined(); // this key may run only one episode at a time
    const foreign = { client: 'me', status: 'completed', reward: 1 };
    const route = `/episodes/${id}/end`;
    expect(codeOf(await send(server, 'POST', route, { key: other, body: foreign }))).toEqual([403, 'foreign_episode']);
    for (const more of [{ rewards: { main: 7 } }, { turn_rewards: [{ agent: 'main', turn: 0, value: -1 }] }]) {
      const answer = await send(server, 'POST', route, { key: lab, body: { ...foreign, ...more } });
      expect(codeOf(answer)).toEqual([422, 'reward_out_of_bounds']);
    }
    expect((await send(server, 'DELETE', '/keys/lab')).body).toEqual({ deleted: true });
    expect((await send(server, 'GET', `/episodes/${id}`)).body).toMatchObject({
      state: 'dropped',
      reason: 'abandoned',
    });
    expect(codeOf(await send(server, 'DELETE', '/keys/first'))).toEqual([400, 'invalid_request']);
  });
});

it('keeps rewards by target in the manifest', async () => {
  const server = await start();
  await postTasks(server, 2);
  for (const name of ['a', 'b', 'c', 'd']) {
    const episode = await claim(server, name);
    await end(server, episode?.episode_id ?? '', { reward: null, rewards: { wolf: 1, villager: 0 } });
  }
  await expect.poll(() => server.swarm?.context.ledger.state.manifests.get(1)).toBeDefined();
  const [group] = server.swarm?.context.ledger.state.manifests.get(1)?.groups ?? [];
  expect(group?.episodes[0]).toMatchObject({ reward: 0.5, rewards: { wolf: 1, villager: 0 } });
});

it('goes back to a step when an operator decides so, and trains no token of before as on-policy', async () => {
  const settings = { ...testSettings, saveFreq: 1, totalEpochs: 1 };
  const first = await start({ settings });
  await postTasks(first, 4);
  await runAll(first, 'c');
  await expect.poll(() => first.swarm?.describe().version).toBe(2);
  await expect.poll(() => first.swarm?.context.ledger.state.checkpoints.size).toBe(2);
  await first.close();
  await expect(start({ settings, rewindTo: 7 })).rejects.toThrow(
    '--from is step-7, and there is no whole checkpoint of that step; there is step-1, step-2.',
  );
  await expect(start({ settings, rewindTo: { planner: 1 } })).rejects.toThrow('--from names the policy "planner"');
  const server = await start({ settings, rewindTo: 1 });
  const described = server.swarm?.describe();
  expect(described).toMatchObject({ step: 1, version: 1, incarnation: 1, dropped_by_reason: { rewound: 4 } });
  expect([...trainer.counts().values()]).toEqual([1, 1, 1, 1]);
});

it('opens a model that died again, and makes its step once; if it dies too often, receipts are still given', async () => {
  let numFailures = 1;
  const openTrainer = async (): Promise<TrainerPort> => {
    const opened = await trainer.open();
    return {
      ...opened,
      optimize: async (...step) => {
        if (numFailures-- > 0) throw new Error('the device is gone');
        return opened.optimize(...step);
      },
    };
  };
  const notices: string[] = [];
  const server = await start({ openTrainer, onNotice: (message) => notices.push(message) });
  await postTasks(server, 4);
  const ends = async (prefix: string): Promise<void> => {
    for (const name of ['a', 'b', 'c', 'd']) {
      const episode = await claim(server, prefix + name);
      if (episode !== undefined) await end(server, episode.episode_id, { reward: episode.place });
    }
  };
  await ends('one');
  await expect.poll(() => server.swarm?.describe().version).toBe(1);
  expect(notices.join()).toContain('the device is gone');
  expect([...trainer.counts().values()]).toEqual([1, 1, 1, 1]);
  numFailures = Infinity;
  await ends('two');
  await expect.poll(() => server.swarm?.describe().state).toBe('failed');
  expect(notices.at(-1)).toContain('Ends are still accepted');
  const problem = /the device is gone\. It failed \d times .*"ajet swarm start" opens it again/;
  expect((await send(server, 'GET', '/server')).body['problem']).toMatch(problem);
  const refused = await send(server, 'POST', '/run/checkpoint', { headers: { 'idempotency-key': 'save' } });
  const failed = { operation: 'checkpoint', state: 'failed', message: expect.stringMatching(problem) };
  expect(refused.body).toMatchObject(failed);
  expect((await send(server, 'GET', '/operations/save')).body).toMatchObject(failed);
  const ids = [...(server.swarm?.context.ledger.state.episodes.keys() ?? [])];
  const receipt = await end(server, ids[0] ?? '', { reward: 0 });
  expect(receipt).toMatchObject({ status: 200, body: { state: 'trained', step: 1 } });
  numFailures = 0;
  const started = await send(server, 'POST', '/run/start', { headers: { 'idempotency-key': 'go' } });
  expect(started).toMatchObject({ status: 202, body: { operation: 'start', state: 'done' } });
  await expect.poll(() => server.swarm?.describe().version).toBe(2);
  expect((await send(server, 'GET', '/server')).body).not.toHaveProperty('problem');
  expect(codeOf(await send(server, 'POST', '/run/pause', { headers: { 'idempotency-key': 'go' } }))).toEqual([
    409,
    'name_taken',
  ]);
});

it('speaks TLS with the certificate that it is given', async () => {
  const [cert, key] = [path.join(dir, 'cert.pem'), path.join(dir, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    ...subject,
    '-keyout',
    key,
    '-out',
    cert,
  ];
  execFileSync('openssl', made, { stdio: 'ignore' });
  const server = await start({ tls: { cert, key } });
  expect(server.url).toMatch(/^https:/);
  const status = await new Promise((resolve, reject) => {
    const options = { ca: readFileSync(cert), headers: { authorization: `Bearer ${commander}` } };
    httpsRequest(`${server.url}/swarm/v1/server`, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
  expect(status).toBe(200);
  await expect(fetch(server.url.replace('https:', 'http:'))).rejects.toThrow();
});
