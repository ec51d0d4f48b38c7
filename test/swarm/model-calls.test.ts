import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration } from 'agentjet';
import { unpackTurns, type PackedTurns } from '@agentjet/context-tracker';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';

let dir = '';
let served: ServedSwarm[] = [];
let commander = '';

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-model-'));
  served = [];
});
afterEach(async () => {
  for (const each of served) await each.close();
  await rm(dir, { recursive: true, force: true });
});

async function serve(): Promise<ServedSwarm> {
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    data: { trainBatchSize: 2 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 8 },
    trainerCommon: { saveFreq: 2, totalEpochs: 3 },
    onnx: { numThreads: 1 },
  });
  const swarm = await serveSwarm({ config, composition: configuration, onNotice: console.error });
  served.push(swarm);
  commander = swarm.server.firstKey ?? commander;
  return swarm;
}

type Json = Readonly<Record<string, unknown>>;

async function send(
  url: string,
  body: unknown,
  key = commander,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Json }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

type Claimed = { readonly episode_id: string; readonly base_url: string; readonly key: string; readonly place: number };

async function claim(url: string, claimId: string): Promise<Claimed> {
  const { body } = await send(`${url}/swarm/v1/episodes`, {
    claim_id: claimId,
    client: 'me',
    life: 'one',
    wait_seconds: 1,
  });
  const [episode] = body['episodes'] as readonly Claimed[];
  if (episode === undefined) throw new Error(`No episode: ${JSON.stringify(body)}`);
  return episode;
}

function ask({ base_url, key }: Claimed, said: unknown, headers: Readonly<Record<string, string>> = {}) {
  const messages = typeof said === 'string' ? [{ role: 'user', content: said }] : said;
  return send(`${base_url}/main/v1/chat/completions`, { model: 'm', messages }, key, headers);
}

type Completion = { readonly choices: readonly { readonly message: { readonly content: string } }[] };

const messageOf = ({ body }: { readonly body: Json }) => (body as Completion).choices[0]?.message;
const textOf = (answer: { readonly body: Json }) => messageOf(answer)?.content;

async function postTasks(url: string, count: number): Promise<void> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  expect((await send(`${url}/swarm/v1/tasks`, { tasks, total: count })).status).toBe(200);
}

it('answers model calls of claimed episodes, trains on them, and reports those that were lost', async () => {
  const { server, runDir } = await serve();
  const { url } = server;
  await postTasks(url, 4);
  const lost = await claim(url, 'lost');
  await ask(lost, 'hello');
  await send(`${url}/swarm/v1/episodes/${lost.episode_id}/abandon`, { client: 'me' });
  for (let index = 0; index < 8; index++) {
    const episode = await claim(url, `c${index}`);
    const answer = await ask(episode, `hello ${index}`);
    expect(answer).toMatchObject({ status: 200, body: { object: 'chat.completion' } });
    const receipt = await send(`${url}/swarm/v1/episodes/${episode.episode_id}/end`, {
      client: 'me',
      status: 'completed',
      reward: episode.place,
    });
    expect(receipt).toMatchObject({ status: 200, body: { status: 'completed' } });
  }
  await expect.poll(() => server.swarm?.describe().account).toMatchObject({ trained: 8 });
  const [first = ''] = readFileSync(path.join(runDir, 'metrics.jsonl'), 'utf8').split('\n');
  const lengths = { cut_attempts_share: 0.2, trained_over_begun_tokens: expect.any(Number) as number };
  expect(JSON.parse(first)).toMatchObject(lengths);
});

it('continues a running episode after a restart, and answers a repeated call from its record', async () => {
  const first = await serve();
  await postTasks(first.server.url, 4);
  const episode = await claim(first.server.url, 'c');
  const before = await ask(episode, 'hello', { 'idempotency-key': 'one' });
  await first.close();
  const { server, isResumed } = await serve();
  expect(isResumed).toBe(true);
  const again = { ...episode, base_url: episode.base_url.replace(first.server.url, server.url) };
  const after = await ask(again, 'hello', { 'idempotency-key': 'one' });
  expect(textOf(after)).toBe(textOf(before));
  const history = [{ role: 'user', content: 'hello' }, messageOf(after), { role: 'user', content: 'and then?' }];
  expect(await ask(again, history)).toMatchObject({ status: 200 });
  const { body } = await send(`${server.url}/swarm/v1/episodes/${episode.episode_id}/end`, {
    client: 'me',
    status: 'completed',
    reward: 1,
  });
  expect(body).toMatchObject({ state: 'pooled' });
  const content = server.swarm?.context.records.end(episode.episode_id)?.content as {
    readonly turns: PackedTurns;
  };
  expect(unpackTurns(content.turns)).toMatchObject([{ fork: null }, { fork: null }]);
});

it('opens an episode with its own key alone', async () => {
  const { server } = await serve();
  await postTasks(server.url, 4);
  const [one, other] = [await claim(server.url, 'a'), await claim(server.url, 'b')];
  expect(await ask({ ...one, key: other.key }, 'hello')).toMatchObject({ status: 401 });
  expect(await ask({ ...one, key: commander }, 'hello')).toMatchObject({ status: 401 });
  expect(await send(`${server.url}/swarm/v1/episodes`, {}, one.key)).toMatchObject({ status: 401 });
  const end = { client: 'me', status: 'completed', reward: 1 };
  await send(`${server.url}/swarm/v1/episodes/${one.episode_id}/end`, end);
  expect(await ask(one, 'hello')).toMatchObject({
    status: 410,
    body: { error: { code: 'episode_ended', message: expect.stringContaining('is over: ended') } },
  });
});
