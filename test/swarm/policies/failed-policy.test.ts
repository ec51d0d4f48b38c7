import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { configuration, type Task, type Tuner } from 'agentjet';
import { EngineError } from '@agentjet/core';
import { LmdbStore, verifyStore } from '@agentjet/ledger';
import { openServedRun, type ServedPolicy, type ServedRun, type ServedWeights } from '@agentjet/swarm-server/served';
import { SwarmClient, SwarmOperator } from '@agentjet/swarm-client';
import { openSwarmModel, SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TrainingWatch } from '../watch-training.js';

/** A server has one model for a planner and one for a worker, and the worker's model fails. */

let dir = '';
let run: ServedRun;
let server: SwarmServer;
let worker: Breakable;
const notices: string[] = [];

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'failed-policy-'));
  notices.length = 0;
  const config = configuration.create({
    experimentDir: dir,
    experimentName: 'failed',
    model: { path: 'nano' },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { valBeforeTrain: false, maxEmptySteps: null },
    onnx: { numThreads: 1 },
    swarm: { policies: { planner: { trainableTargets: ['planner'] }, worker: { trainableTargets: ['worker'] } } },
  });
  run = await openServedRun({ config, composition: configuration, isNew: true, onNotice: () => undefined });
  const [planner, second] = run.policies;
  if (planner === undefined || second === undefined) throw new Error('There are two policies.');
  worker = new Breakable(second);
  const policies = [planner, worker.policy];
  server = await SwarmServer.start({
    openStore: () => LmdbStore.open(run.storeDir),
    openModel: (records, onFailure) => openSwarmModel({ folder: run.folder, policies }, records, { onFailure }),
    settings: {
      ...testSettings,
      rules: { ...testSettings.rules, batchSize: 2 },
      numPlaces: 2,
      maxSteps: 5,
      saveFreq: 3,
    },
    onNotice: (message) => void notices.push(message),
  });
});

afterEach(async () => {
  await server.close();
  await run.close();
  await rm(dir, { recursive: true, force: true });
});

/** The real weights of a policy. After `kill`, steps and calls fail until the weights are opened again. */
class Breakable {
  readonly policy: ServedPolicy;
  canOpen = true;
  numOpened = 0;
  /** Is called while the model is opened again. */
  whileOpening: () => void = () => undefined;
  #isDead = false;
  #gone = new AbortController();

  constructor(policy: ServedPolicy) {
    this.policy = { ...policy, openWeights: () => this.#open(policy) };
  }

  kill(): void {
    this.#isDead = true;
    this.#gone.abort(killed());
  }

  async #open(policy: ServedPolicy): Promise<ServedWeights> {
    if (!this.canOpen) throw new Error('No GPU is free.');
    const weights = await policy.openWeights();
    this.whileOpening();
    this.#isDead = false;
    this.#gone = new AbortController();
    this.numOpened++;
    if (weights.policy.kind !== 'engine') throw new Error('A model that learns has an engine.');
    const engine = breaking(weights.policy.engine, 'generate', this.#check);
    return {
      ...weights,
      gone: this.#gone.signal,
      policy: { ...weights.policy, engine },
      prepare: (groups, recipe) => breaking(weights.prepare(groups, recipe), 'optimize', this.#check),
    };
  }

  readonly #check = (): void => {
    if (this.#isDead) throw killed();
  };
}

const killed = (): EngineError => new EngineError('failed', 'The worker was killed.');

/** Returns the same object, but calls `check` before one of its methods. */
function breaking<Thing extends object>(thing: Thing, method: keyof Thing, check: () => void): Thing {
  return new Proxy(thing, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => unknown;
      if (name !== method) return bound;
      return async (...given: unknown[]) => {
        check();
        return bound(...given);
      };
    },
  });
}

const tasks: readonly Task[] = Array.from({ length: 40 }, (_none, index) => ({
  taskId: `t${index}`,
  mainQuery: `task ${index}`,
  initMessages: [],
  metadata: {},
}));

async function ask(tuner: Tuner, agentName: string): Promise<void> {
  const model = tuner.selectModel({ agentName }, (tuned) => tuned);
  await model.generate({ messages: [{ role: 'user', content: 'Say something.' }] });
}

let next = 0;
const reward = (): { readonly reward: number } => ({ reward: next++ % 2 });

async function both(_task: Task, tuner: Tuner) {
  await ask(tuner, 'planner');
  await ask(tuner, 'worker');
  return reward();
}

async function plannerOnly(_task: Task, tuner: Tuner) {
  await ask(tuner, 'planner');
  return reward();
}

const told = (policy: string) => server.swarm?.describe().policies?.[policy];

async function expectSound(): Promise<void> {
  const store = await LmdbStore.open(run.storeDir, { isReadOnly: true });
  const verdict = verifyStore(store);
  await store.close();
  expect(verdict).toMatchObject({ isSound: true, policies: { planner: { steps: 5 }, worker: { steps: 5 } } });
  for (const { account } of verdict.isSound ? Object.values(verdict.policies) : [])
    expect(account).toMatchObject({ assigned: 0, pooled: 0, unscored: 0 });
}

it('a model that dies is opened again alone, and its steps since the checkpoint are made again', async () => {
  const { swarm, url, firstKey } = server;
  const running = new SwarmClient({ url, key: firstKey }).run(both, { tasks, parallel: 4 });
  await expect.poll(() => told('worker')?.step).toBeGreaterThanOrEqual(1);
  worker.kill();
  expect(await running).toMatchObject({ reason: 'complete', failed: 0, gone: 0 });
  expect(server.swarm).toBe(swarm); // the store and the planner's model were left alone
  expect(worker.numOpened).toBe(2);
  expect(notices).toEqual([expect.stringMatching(/^worker: the model failed, and is opened again .*was killed/)]);
  await expect.poll(() => told('worker')).toMatchObject({ state: 'complete', step: 5 });
  await expectSound();
});

it('a model that dies while nobody asks it anything is opened again at once', async () => {
  await expect.poll(() => told('worker')?.state).toBe('waiting');
  worker.kill();
  await expect.poll(() => worker.numOpened).toBe(2);
  await expect.poll(() => told('worker')?.state).toBe('waiting');
  expect(notices).toEqual([expect.stringMatching(/^worker: the model failed, and is opened again .*was killed/)]);
});

it('a call that fails late, while its model is opened again, does not open the model once more', async () => {
  await expect.poll(() => told('worker')?.state).toBe('waiting');
  worker.whileOpening = () => server.swarm?.breakPolicy('worker', killed());
  worker.kill();
  await expect.poll(() => worker.numOpened).toBe(2);
  await expect.poll(() => told('worker')?.state).toBe('waiting');
  await delay(500); // several ticks
  expect(worker.numOpened).toBe(2);
});

it('a model that cannot be opened stops its policy alone, which says so, and comes back when an operator starts it', async () => {
  const { url, firstKey } = server;
  const operator = new SwarmOperator({ url, key: firstKey });
  const client = new SwarmClient({ url, key: firstKey });
  const watch = new TrainingWatch(url, firstKey);
  const first = new AbortController();
  const beginning = client.run(both, { tasks, parallel: 4, signal: first.signal });
  await expect.poll(() => told('worker')?.step).toBeGreaterThanOrEqual(1);
  worker.canOpen = false;
  worker.kill();
  await expect.poll(() => told('worker')?.state).toBe('failed');
  first.abort();
  await beginning;
  const { state, policies } = await operator.server();
  expect(state).not.toBe('failed');
  expect(policies?.['worker']?.problem).toMatch(
    /No GPU is free\. It failed 4 times .*"ajet swarm start" opens it again/,
  );
  expect(policies?.['planner']).not.toHaveProperty('problem');
  expect(await refusalOf(url, firstKey ?? '')).toMatchObject({
    status: 503,
    retryAfter: '5',
    code: 'policy_failed',
    message: expect.stringContaining('The policy "worker" has stopped, and the others continue') as unknown,
  });

  const second = new AbortController();
  const going = client.run(plannerOnly, { tasks, parallel: 4, signal: second.signal });
  await expect.poll(() => told('planner')?.state).toBe('complete');
  expect(told('worker')).toMatchObject({ state: 'failed' });

  worker.canOpen = true;
  await operator.operate('start');
  await expect.poll(() => told('worker')?.state).not.toBe('failed');
  await expect.poll(() => watch.said.at(-1)).toBe('worker training');
  await watch.close();
  const said = watch.said.filter((line) => line.startsWith('worker')).map((line) => line.slice(0, 70));
  expect(said).toContain('worker failed No GPU is free. It failed 4 times within ten minutes. Re');
  expect(watch.said.filter((line) => line.startsWith('planner failed'))).toEqual([]);
  second.abort();
  await going;
  expect(await client.run(both, { tasks, parallel: 4 })).toMatchObject({ reason: 'complete' });
  await expect.poll(() => told('worker')).toMatchObject({ state: 'complete', step: 5 });
  expect(told('worker')).not.toHaveProperty('problem');
  await expectSound();
});

/** Returns the answer that a program without our client gets when it calls the worker. */
async function refusalOf(url: string, key: string) {
  const claim = { claim_id: 'raw', client: 'raw', life: 'one', wait_seconds: 10 };
  const post = (address: string, bearer: string, body: object): Promise<Response> =>
    fetch(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { episodes } = (await (await post(`${url}/swarm/v1/episodes`, key, claim)).json()) as {
    readonly episodes: readonly { readonly base_url: string; readonly key: string; readonly episode_id: string }[];
  };
  const [episode] = episodes;
  if (episode === undefined) throw new Error('There is no place.');
  const at = new URL(`${episode.base_url}/worker/v1/chat/completions`, url).href;
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hello?' }] };
  const answer = await post(at, episode.key, body);
  const { error } = (await answer.json()) as { readonly error: { readonly code: string; readonly message: string } };
  await post(`${url}/swarm/v1/episodes/${episode.episode_id}/abandon`, key, { client: 'raw', reason: 'told' });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...error };
}
