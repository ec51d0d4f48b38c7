import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadRunFollower } from '@agentjet/trackers';
import { configuration, type Task, type Tuner } from 'agentjet';
import { LmdbStore, verifyStore, type StoreVerdict } from '@agentjet/ledger';
import { asModel } from '@agentjet/openai';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** One server has two models: a planner that names a direction, and a worker that has to go another way. */

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-policies-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const tasks: readonly Task[] = Array.from({ length: 64 }, (_none, index) => ({
  taskId: `t${index}`,
  mainQuery: 'up: ice\ndown: ice, closer\nleft: ice\nright: ice, closer',
  initMessages: [],
  metadata: {},
}));

const system =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';

async function ask(tuner: Tuner, agentName: string, content: string): Promise<string> {
  const { choices } = await asModel(tuner, { agentName }).chat.completions.create({
    model: 'm',
    messages: [
      { role: 'system', content: system },
      { role: 'user', content },
    ],
  });
  return choices[0]?.message.content?.trim() ?? '';
}

/** Both agents get the same question and have to answer differently, so weights that they share cannot learn it. */
async function walk(task: Task, tuner: Tuner) {
  const [first, second] = [await ask(tuner, 'planner', task.mainQuery), await ask(tuner, 'worker', task.mainQuery)];
  return { rewards: { planner: first === 'right' ? 1 : 0, worker: second === 'down' ? 1 : 0 }, isSuccess: false };
}

const settings = {
  experimentName: 'swarm',
  model: { path: 'nano' },
  data: { trainBatchSize: 2 },
  rollout: { numRepeat: 8, maxResponseLengthInOneTurn: 8 },
  trainerCommon: {
    totalTrainingSteps: 6,
    valBeforeTrain: false,
    testFreq: 0,
    saveFreq: 3,
    maxEmptySteps: null,
    optim: { lr: 3e-3 },
  },
  onnx: { numThreads: 1 },
};

const policies = {
  planner: { trainableTargets: ['planner'] },
  worker: { trainableTargets: ['worker'], data: { trainBatchSize: 3 }, trainerCommon: { totalTrainingSteps: 4 } },
};

const configOf = (own: Record<string, unknown> = policies, trainerCommon: object = {}) =>
  configuration.create({
    ...settings,
    trainerCommon: { ...settings.trainerCommon, ...trainerCommon },
    experimentDir: dir,
    swarm: { policies: own as never },
  });

async function serve(port = 0, run?: string, trainerCommon?: object): Promise<ServedSwarm> {
  const config = configOf(policies, trainerCommon);
  return serveSwarm({
    config,
    composition: configuration,
    port,
    run,
    follow: loadRunFollower,
    onNotice: () => undefined,
  });
}

/** Counts how often the event files of a policy have the figure. */
function countOf(figure: string, run: string, policy: string): number {
  const events = path.join(run, 'policies', policy, 'tensorboard');
  const texts = readdirSync(events).map((name) => readFileSync(path.join(events, name), 'latin1'));
  return texts.join('').split(figure).length - 1;
}

const linesOf = (run: string, file: string): Record<string, number>[] =>
  readFileSync(path.join(run, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as never);

function gainOf(run: string, policy: string): number {
  const rewards = linesOf(run, `policies/${policy}/metrics.jsonl`).map((line) => line[`reward/${policy}`] ?? 0);
  return (rewards.at(-1) ?? 0) - (rewards[0] ?? 0);
}

async function verify(run: string): Promise<StoreVerdict> {
  const store = await LmdbStore.open(path.join(run, 'ledger'), { takeOver: true });
  try {
    return verifyStore(store);
  } finally {
    await store.close();
  }
}

it('two models learn different answers to the same question, each in its own steps, and resume after a restart', async () => {
  const first = await serve();
  const { url, firstKey } = first.server;
  const running = new SwarmClient({ url, key: firstKey }).run(walk, { tasks, parallel: 16 });
  const stepOf = (name: string): number => first.server.swarm?.describe().policies?.[name]?.step ?? 0;
  await expect.poll(() => stepOf('planner') >= 2 && stepOf('worker') >= 1).toBe(true);
  await first.close(); // nothing is saved, so the steps since the newest checkpoint are repeated
  const served = await serve(Number(new URL(url).port), first.runDir, { logger: ['console', 'tensorboard'] });
  expect(await running).toMatchObject({ reason: 'complete' });
  const complete = { planner: { step: 6, state: 'complete' }, worker: { step: 4, state: 'complete' } };
  // A client may stop before the last checkpoint is saved.
  await expect.poll(() => served.server.swarm?.describe().policies).toMatchObject(complete);
  await served.close();
  for (const [policy, steps] of [['planner', [1, 2, 3, 4, 5, 6]] as const, ['worker', [1, 2, 3, 4]] as const])
    expect(linesOf(served.runDir, `policies/${policy}/metrics.jsonl`).map(({ step }) => step)).toEqual(steps);
  // The tracker also gets the figures from before it was configured. It may get a repeated step twice.
  expect(countOf('train/reward_mean', served.runDir, 'planner')).toBeGreaterThanOrEqual(6);
  expect(countOf('train/reward_mean', served.runDir, 'worker')).toBeGreaterThanOrEqual(4);
  expect(gainOf(served.runDir, 'planner')).toBeGreaterThan(0.3);
  expect(gainOf(served.runDir, 'worker')).toBeGreaterThan(0.3);
  const verdict = await verify(served.runDir);
  expect(verdict).toMatchObject({ isSound: true, policies: { planner: { steps: 6 }, worker: { steps: 4 } } });
  for (const { account } of verdict.isSound ? Object.values(verdict.policies) : []) {
    expect(account.acknowledged).toBe(account.trained + account.dropped + account.pooled);
    expect(Object.keys(account.droppedByReason)).toEqual(['nothing_to_train']);
  }
});

it('a workflow may reward a policy by its name, or an agent by its target, and neither by another', async () => {
  const own = { first: { trainableTargets: ['planner'] }, second: { trainableTargets: ['worker'] } };
  const config = configOf(own);
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  const { url, firstKey } = served.server;
  const given: readonly Record<string, number>[] = [{ first: 1, second: 0 }, { planner: 1, worker: 0 }, { third: 1 }];
  const pending = [...given];
  const enough = new AbortController();
  const ends: unknown[] = [];
  const run = async (task: Task, tuner: Tuner) => {
    await ask(tuner, 'planner', task.mainQuery);
    await ask(tuner, 'worker', task.mainQuery);
    return { rewards: pending.shift() ?? {} };
  };
  await new SwarmClient({ url, key: firstKey }).run(run, {
    tasks,
    parallel: 1,
    signal: enough.signal,
    onEvent: (event) => {
      if (event.type === 'episode_ended') ends.push(event.end);
      if (ends.length === given.length) enough.abort();
    },
  });
  await served.close();
  expect(ends).toMatchObject([
    { status: 'completed', rewards: given[0] },
    { status: 'completed', rewards: given[1] },
    {
      status: 'failed',
      error: expect.stringContaining('and the policies are first, second. Name rewards by') as unknown,
    },
  ]);
});
