import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration, type Judge, type Task, type Tuner } from 'agentjet';
import { Outage, type ChatModel } from '@agentjet/core';
import { asModel } from '@agentjet/openai';
import { SwarmClient, SwarmOperator, type SwarmEvent, type SwarmRunOptions } from '@agentjet/swarm-client';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** Ordinary workflows run against a real server of the nano model. They have no code for the swarm. */

let dir = '';
let served: ServedSwarm[] = [];
let key: string | undefined;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-run-'));
  served = [];
  key = undefined;
});
afterEach(async () => {
  for (const each of served) await each.close();
  await rm(dir, { recursive: true, force: true });
});

type Settings = {
  readonly backbone?: `${string}->${string}`;
  readonly port?: number;
  readonly epochs?: number;
  readonly targets?: readonly string[];
  readonly workers?: number | 'auto';
  readonly isNew?: boolean;
};

async function serve({
  port = 0,
  epochs = 1,
  targets,
  workers = 'auto',
  backbone,
  isNew = false,
}: Settings = {}): Promise<ServedSwarm> {
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    ...(backbone !== undefined && { backbone }),
    ...(targets !== undefined && { trainableTargets: [...targets] }),
    data: { trainBatchSize: 2 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4, maxEnvWorker: workers },
    trainerCommon: { totalEpochs: epochs },
    onnx: { numThreads: 1 },
  });
  const swarm = await serveSwarm({ config, composition: configuration, port, isNew, onNotice: () => undefined });
  served.push(swarm);
  key ??= swarm.server.firstKey;
  return swarm;
}

const tasksOf = (count: number) =>
  Array.from({ length: count }, (_none, index) => ({
    taskId: `t${index}`,
    mainQuery: `Say ${index}.`,
    metadata: { index },
  }));

type Ended = Extract<SwarmEvent, { readonly type: 'episode_ended' }>;

/** Runs until all tasks are done. Returns the episodes in the order in which they ended, and the notices. */
async function run(
  swarm: ServedSwarm,
  workflow: Parameters<SwarmClient['run']>[0],
  options: SwarmRunOptions & { readonly revision?: string } = {},
) {
  const { revision = 'r1', ...more } = options;
  const client = new SwarmClient({ url: swarm.server.url, key, client: 'tester', revision });
  const ended: Ended[] = [];
  const notices: string[] = [];
  const result = await client.run(workflow, {
    tasks: tasksOf(2),
    parallel: 2,
    ...more,
    onEvent: (event) => {
      if (event.type === 'episode_ended') ended.push(event);
      if (event.type === 'notice') notices.push(event.message);
      more.onEvent?.(event);
    },
  });
  return { result, ended, notices };
}

let numSaid = 0;

/** Gives the episodes of a task different rewards, so there is something to train. */
async function say(task: Task, tuner: Tuner): Promise<{ readonly reward: number }> {
  const client = asModel(tuner, { agentName: 'solver' });
  const { choices } = await client.chat.completions.create({
    model: 'any',
    messages: [{ role: 'user', content: task.mainQuery }],
  });
  return { reward: choices[0] === undefined ? Number.NaN : numSaid++ % 2 };
}

const accountOf = ({ server }: ServedSwarm) => server.swarm?.describe().account;

it('runs a workflow unchanged until all tasks are done, and the server trains each episode once', async () => {
  const swarm = await serve();
  const { result, ended } = await run(swarm, say);
  expect(result).toMatchObject({ reason: 'no_task', ended: 4, completed: 4, failed: 0, gone: 0 });
  expect(ended.map(({ taskId }) => taskId).sort()).toEqual(['t0', 't0', 't1', 't1']);
  expect(ended.every(({ receipt }) => receipt.status === 'completed')).toBe(true);
  await expect.poll(() => accountOf(swarm)).toMatchObject({ trained: 4, pooled: 0, dropped: 0 });
});

it('runs as many episodes at the same time as the server, if the client leaves the number open', async () => {
  const swarm = await serve({ workers: 3 });
  const waiting: (() => void)[] = [];
  const waitForThree = (): Promise<void> =>
    new Promise((go) => {
      waiting.push(go);
      if (waiting.length >= 3) for (const each of waiting) each();
    });
  let numRunning = 0;
  let most = 0;
  const workflow = async (task: Task, tuner: Tuner): ReturnType<typeof say> => {
    most = Math.max(most, ++numRunning);
    await waitForThree();
    return say(task, tuner).finally(() => numRunning--);
  };
  const { result } = await run(swarm, workflow, { parallel: 'auto' });
  expect(most).toBe(3);
  expect(result).toMatchObject({ completed: 4, failed: 0 });
});

/** A backbone that never answers. More calls at the same time would make it faster. */
const wide = `
const capabilities = {
  takes: 'packs', repeatsSeed: false, reportsGradNorm: true, losses: ['policy'], streams: true,
  trainsTruncation: true, samplesWide: true,
};
const engine = { contextLength: 100, generate: () => new Promise(() => {}) };
export const wide = {
  name: 'wide',
  capabilities,
  open: async (_section, { modelDir }) => ({
    engine, capabilities, modelDir, policyVersion: 0, load: async () => {}, close: async () => {},
  }),
};
`;

it('runs 128 episodes at the same time on a backbone that samples wide, unless the configuration has a number', async () => {
  const file = path.join(dir, 'wide.mjs');
  await writeFile(file, wide);
  const capacityOf = ({ server }: ServedSwarm) => server.swarm?.describe().capacity;
  expect(capacityOf(await serve())).toBe(64);
  const backbone = `${file}->wide` as const;
  expect(capacityOf(await serve({ backbone, isNew: true }))).toBe(128);
  expect(capacityOf(await serve({ backbone, isNew: true, workers: 5 }))).toBe(5);
});

it('passes tools, streams, names of targets and rewards of targets on; untrained targets run here', async () => {
  const swarm = await serve({ targets: ['wolf'] });
  const asked: string[] = [];
  const debugModel: ChatModel = {
    name: 'debug',
    generate: async ({ messages }) => {
      asked.push(messages.at(-1)?.content ?? '');
      const message = { role: 'assistant', content: 'no' } as const;
      return {
        id: 'd',
        model: 'debug',
        message,
        finishReason: 'stop',
        usage: { promptTokens: 1, completionTokens: 1 },
      };
    },
  };
  const pieces: string[] = [];
  const { result, ended } = await run(
    swarm,
    async (task, tuner) => {
      const wolf = tuner.selectModel({ agentName: 'Ann ~ 1/2', targetTag: 'wolf' }, (model) => model);
      const villager = tuner.selectModel({ agentName: 'Bob', debugModel }, (model) => model);
      const request = { messages: [{ role: 'user', content: task.mainQuery }] } as const;
      const answer = await wolf.generate(request, {
        onDelta: (delta) => void (delta.type === 'content' && pieces.push(delta.text)),
      });
      expect(pieces.splice(0).join('')).toBe(answer.message.content);
      tuner.reward(0.25, { agent: 'Ann ~ 1/2' });
      await villager.generate(request);
      return {
        rewards: { wolf: 1 },
        logMetrics: { said: answer.message.content.length },
        metadata: { index: task.metadata['index'] },
      };
    },
    { parallel: 1 },
  );
  expect(result).toMatchObject({ completed: 4, meanReward: 1 });
  expect(asked).toHaveLength(4);
  expect(ended[0]?.end).toMatchObject({
    rewards: { wolf: 1 },
    turn_rewards: [{ agent: 'Ann ~ 1/2', turn: 0, value: 0.25 }],
    log_metrics: { said: expect.any(Number) as number },
  });
});

it('gives agents an address whose key is not the key of the swarm', async () => {
  const swarm = await serve();
  const { result } = await run(swarm, async (task, tuner) => {
    const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'program' });
    expect(apiKey).not.toBe(key);
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: task.mainQuery }] }),
    });
    return { reward: response.status };
  });
  expect(result).toMatchObject({ completed: 4, meanReward: 200 });
});

it('tells failures of the agent from those of the world, and asks the judge here', async () => {
  const swarm = await serve();
  const judge: Judge = {
    judge: (task) => ({ reward: task.taskId === 't0' ? 1 : 0, isSuccess: true, reason: 'looked' }),
  };
  const seen = new Map<string, number>();
  const { ended } = await run(
    swarm,
    async (task, tuner) => {
      const times = (seen.get(task.taskId) ?? 0) + 1;
      seen.set(task.taskId, times);
      if (task.taskId === 't0' && tuner.attempt === 1) throw new Outage('the sandbox is down');
      if (task.taskId === 't1' && times === 1) throw new TypeError('the agent cannot count');
      return {};
    },
    { judge, parallel: 1 },
  );
  const statuses = (taskId: string) => ended.filter((event) => event.taskId === taskId).map(({ end }) => end.status);
  expect(statuses('t0')).toEqual(expect.arrayContaining(['outage', 'outage', 'completed', 'completed']));
  expect(statuses('t1').filter((status) => status === 'failed')).toHaveLength(1);
  expect(ended.find(({ end }) => end.status === 'failed')?.end.error).toContain('the agent cannot count');
  expect(ended.find(({ end }) => end.status === 'completed')?.end).toMatchObject({
    reason: 'looked',
    is_success: true,
  });
});

it('says once for all episodes that the judge is away, and once that it is back', async () => {
  const swarm = await serve();
  let numAway = 0;
  let isFirst = true;
  const judge: Judge = {
    judge: () => {
      if (numAway < 2) throw new Outage(`429 no quota, request ${numAway++}`);
      if (!isFirst) return { reward: 0, isSuccess: false };
      isFirst = false;
      return { reward: 1, isSuccess: true };
    },
  };
  const { result, notices } = await run(swarm, async () => ({}), { judge });
  expect(result).toMatchObject({ completed: 4, outages: 0 });
  expect(notices).toEqual([
    expect.stringMatching(/^The judge cannot be reached \(.*429 no quota, request 0\)\. Episodes that have ended wait/),
    'The judge is back.',
  ]);
});

it('continues where it was after the server is replaced, in the middle of calls', async () => {
  const first = await serve();
  const { port } = new URL(first.server.url);
  let calls = 0;
  let replaced: Promise<unknown> = Promise.resolve();
  const { result } = await run(
    first,
    async (task, tuner) => {
      const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
      const messages = [{ role: 'user', content: task.mainQuery }] as const;
      const { message } = await model.generate({ messages });
      if (++calls === 2) replaced = first.close().then(() => serve({ port: Number(port) }));
      await model.generate({ messages: [...messages, message, { role: 'user', content: 'Again.' }] });
      return { reward: calls % 2 };
    },
    { tasks: tasksOf(3) },
  );
  await replaced;
  const [, second] = served;
  expect(result).toMatchObject({ ended: 6, completed: 6 });
  expect(second === undefined ? undefined : accountOf(second)).toMatchObject({ acknowledged: 6 });
});

it('gives its episodes back at once when it stops, and the next revision continues at once', async () => {
  const swarm = await serve();
  const controller = new AbortController();
  let numStarted = 0;
  const { result } = await run(
    swarm,
    async () => {
      if (++numStarted === 2) controller.abort(new Error('Ctrl-C'));
      return new Promise(() => undefined);
    },
    { signal: controller.signal, tasks: tasksOf(2) },
  );
  expect(result).toMatchObject({ reason: 'interrupted', ended: 0 });
  expect(swarm.server.swarm?.describe().running).toBe(0);
  const again = await run(swarm, say, { revision: 'r2' });
  expect(again.result).toMatchObject({ reason: 'no_task', completed: 4 });
  await expect.poll(() => accountOf(swarm)).toMatchObject({ trained: 4 });
});

it('refuses to run with a wrong key, at a wrong address and without tasks', async () => {
  const swarm = await serve();
  const { url } = swarm.server;
  const runWith = (options: ConstructorParameters<typeof SwarmClient>[0], tasks = tasksOf(1)) =>
    new SwarmClient(options).run(say, { tasks });
  await expect(runWith({ url, key: 'ajk_worker_no_no' })).rejects.toMatchObject({ code: 'unknown_key' });
  await expect(runWith({ url: `${url}/elsewhere`, key })).rejects.toThrow('/elsewhere/swarm/v1/tasks');
  await expect(runWith({ url, key }, [])).rejects.toMatchObject({ code: 'no_tasks' });
  expect(() => new SwarmClient({ url: 'gpu-box:8700' })).toThrow(/gpu-box:8700.*http:\/\//);
  const secret = 'ajk_worker_a hidden';
  expect(() => new SwarmClient({ url, key: secret })).toThrow(/^The key has characters that no key has(?!.*hidden)/);
  expect(() => new SwarmClient({ url, key: `${key}\n` })).not.toThrow();
});

it('ends what it runs as soon as its key is deleted, and says why', async () => {
  const swarm = await serve();
  const { url } = swarm.server;
  const operator = new SwarmOperator({ url, key });
  const made = await operator.makeKey({ name: 'lab', role: 'worker' });
  const hang = async (): Promise<never> => {
    await operator.deleteKey('lab');
    return new Promise(() => undefined);
  };
  const client = new SwarmClient({ url, key: made.key });
  await expect(client.run(hang, { tasks: tasksOf(1) })).rejects.toMatchObject({ code: 'unknown_key' });
});

it('stops at once while it waits for a server that is away', async () => {
  const controller = new AbortController();
  const client = new SwarmClient({ url: 'http://127.0.0.1:9' });
  const onEvent = ({ type }: { readonly type: string }): void => {
    if (type === 'notice') controller.abort(new Error('Ctrl-C'));
  };
  const result = client.run(say, { tasks: tasksOf(1), signal: controller.signal, onEvent });
  await expect(result).resolves.toMatchObject({ reason: 'interrupted', ended: 0 });
});
