import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Backbone, LossOptions } from '@agentjet/core';
import { createTinyTaskBackbone, tinyTaskOptimizer } from '../../testing/tiny-task.js';
import { HangingClock } from './testing/hanging-clock.js';
import { attemptClock } from './attempt-clock.js';
import { lesson, row } from './testing/lesson.js';
import { openClient, writeModelConfig } from './testing/open-client.js';
import type { TinkerTrainStepMetrics } from './tinker-backbone.js';
import { TinkerClient } from './tinker-client.js';
import { TinkerServer } from './testing/tinker-server.js';
import { plainLoss } from '../../testing/plain-loss.js';

const policy: Extract<LossOptions, { kind: 'policy' }> = { ...plainLoss, dualClip: 0 };
const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 4, stopIds: [], seed: 1 };

let server: TinkerServer;
let modelDir: string;
const opened: Backbone[] = [];

beforeEach(async () => {
  server = await TinkerServer.start({ open: async () => createTinyTaskBackbone(1), apiKey: 'tml-secret' });
  modelDir = await writeModelConfig(5);
});
afterEach(async () => {
  for (const backbone of opened.splice(0)) await backbone.close();
  await server.close();
  await rm(modelDir, { recursive: true });
});

async function open(options: Parameters<typeof openClient>[2] = {}): Promise<Backbone> {
  const backbone = await openClient(server, modelDir, { apiKey: 'tml-secret', ...options });
  opened.push(backbone);
  return backbone;
}

const scoreOf = async (backbone: Backbone) => [...((await backbone.logprobs([{ ids: row }]))[0] ?? [])];

/** Makes two steps without any fault. */
async function undisturbed(): Promise<readonly number[]> {
  const backbone = createTinyTaskBackbone(1);
  await backbone.trainStep(lesson());
  await backbone.trainStep(lesson());
  return await scoreOf(backbone);
}

async function expectUndisturbed(backbone: Backbone): Promise<void> {
  const expected = await undisturbed();
  expect(backbone.policyVersion).toBe(2);
  for (const [at, logprob] of (await scoreOf(backbone)).entries()) expect(logprob).toBeCloseTo(expected[at] ?? 0, 5);
}

test('a connection that is dropped after the gradient is asked again, and the gradient counts once', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  const { forward_backward: gradients, optim_step: steps } = server.computed;
  server.faults.drops = 'forward_backward';
  await backbone.trainStep(lesson());
  expect(server.computed).toEqual({ forward_backward: gradients + 1, optim_step: steps + 1 });
  await expectUndisturbed(backbone);
});

test.each(['forward_backward', 'optim_step'])(
  'a connection that is dropped in %s by a server that ignores sequence numbers makes the step again from its beginning',
  async (route) => {
    const options = { profile: 'skyrl', optimizer: { ...tinyTaskOptimizer, maxGradNorm: 0 } } as const;
    const [calm, disturbed] = [await open(options), await open(options)];
    server.faults.ignoresNumbers = true;
    for (const backbone of [calm, disturbed]) await backbone.trainStep(lesson());
    await calm.trainStep(lesson());
    server.faults.drops = route;
    await disturbed.trainStep(lesson());
    expect(disturbed.policyVersion).toBe(2);
    expect(server.faults.drops).toBeUndefined();
    const expected = await scoreOf(calm);
    for (const [at, logprob] of (await scoreOf(disturbed)).entries()) expect(logprob).toBeCloseTo(expected[at] ?? 0, 5);
  },
);

test.each([true, false])(
  'a server that ignores sequence numbers is found out without its profile, and a step is made again from its beginning; averages: %s',
  async (averages) => {
    server.faults.averages = averages;
    server.faults.ignoresNumbers = true;
    const calm = await open();
    const disturbed = await open();
    for (const backbone of [calm, disturbed]) await backbone.trainStep(lesson());
    await calm.trainStep(lesson());
    server.faults.drops = 'forward_backward';
    const { optim_step: steps } = server.computed;
    server.requests.length = 0;
    await disturbed.trainStep(lesson());
    expect(server.faults.drops).toBeUndefined();
    expect(server.requests).toContain('load_weights');
    expect(server.computed.optim_step).toBe(steps + 1);
    const expected = await scoreOf(calm);
    for (const [at, logprob] of (await scoreOf(disturbed)).entries()) expect(logprob).toBeCloseTo(expected[at] ?? 0, 5);
  },
);

test('a step reports how long it waited for room on the server, computed, and made its sampler', async () => {
  const backbone = await open({ clock: { ...attemptClock, wait: () => sleep(20) } });
  server.faults.full = { route: 'forward_backward', times: 3 };
  const startedAt = performance.now();
  const { secondsQueued, secondsComputing, secondsSync } = (await backbone.trainStep(
    lesson(),
  )) as TinkerTrainStepMetrics;
  const seconds = (performance.now() - startedAt) / 1000;
  expect(secondsQueued).toBeGreaterThanOrEqual(3 * 0.019);
  expect(secondsComputing).toBeGreaterThan(0);
  expect(secondsSync).toBeGreaterThan(0);
  expect(Math.abs(secondsQueued + secondsComputing + secondsSync - seconds)).toBeLessThan(0.2 * seconds);
  await expect(backbone.trainStep(lesson())).resolves.toMatchObject({ policyVersion: 2 });
});

test.each([408, 429, 503])('a server that answers %s for a while is waited for', async (status) => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  server.faults.busy = { status, times: 12 };
  await backbone.trainStep(lesson());
  await expectUndisturbed(backbone);
});

test('a dead server ends the step with its address and how to resume, and its successor continues', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-tinker-home-'));
  const backbone = await open({ patienceMs: 500 });
  await backbone.trainStep(lesson());
  await backbone.save(path.join(dir, 'checkpoint'));
  server.isDead = true;
  await expect(backbone.trainStep(lesson())).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/No answer from http:.*continue from the last checkpoint with --resume/),
  });
  server.isDead = false;
  server.loseSessions();
  const successor = await open();
  await successor.load(path.join(dir, 'checkpoint'));
  await successor.trainStep(lesson());
  await expectUndisturbed(successor);
  await rm(dir, { recursive: true });
});

describe('a server that takes requests and never answers', () => {
  let clock: HangingClock;
  beforeEach(() => {
    clock = new HangingClock();
    server.onHang = () => clock.expire();
  });

  test('is reported at start within seconds', async () => {
    server.faults.hangs = { times: Infinity };
    await expect(open({ clock })).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(
        /No answer from http:.*get_server_capabilities in 10 s.*no answer within 5 s.*its address\.$/,
      ),
    });
    expect(clock.now()).toBeLessThan(15_000);
  });

  test('is given up in a step after the patience', async () => {
    const backbone = await open({ clock });
    const startedAt = clock.now();
    server.faults.hangs = { times: Infinity };
    await expect(backbone.trainStep(lesson())).rejects.toMatchObject({ code: 'unreachable' });
    expect(clock.now() - startedAt).toBeLessThan(10 * 60_000);
    server.faults.hangs.times = 0;
  });

  test.each(['forward_backward', 'retrieve_future'])('is asked again after one silence in %s', async (route) => {
    const backbone = await open({ clock });
    await backbone.trainStep(lesson());
    server.faults.hangs = { route, times: 1 };
    await backbone.trainStep(lesson());
    expect(server.faults.hangs.times).toBeLessThanOrEqual(0);
    await expectUndisturbed(backbone);
  });

  test('is waited for as long as it answers other requests, such as heartbeats', async () => {
    const client = new TinkerClient({ baseUrl: server.url, apiKey: 'tml-secret', clock });
    const hearAndExpire = async () => {
      await clock.wait(100_000);
      await client.get('get_server_capabilities');
      clock.expire(10_000);
    };
    server.onHang = () => void hearAndExpire();
    server.faults.hangs = { route: 'retrieve_future', times: 10 };
    const future = { route: 'forward', submitted: { request_id: 'future-7' } };
    await expect(client.result(future)).rejects.toMatchObject({ code: 'lost' });
    client.close();
  });

  test('hears an interruption while the backbone opens', async () => {
    const stopping = new AbortController();
    const reason = new Error('stopped');
    server.onHang = () => stopping.abort(reason);
    server.faults.hangs = { route: 'create_session', times: 1 };
    await expect(open({ signal: stopping.signal })).rejects.toBe(reason);
  });
});

test('a server that stays busy is given up after the patience, with its address', async () => {
  const backbone = await open({ patienceMs: 1000 });
  server.faults.busy = { status: 503, times: 1000 };
  await expect(backbone.trainStep(lesson())).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining(server.url),
  });
  server.faults.busy.times = 0;
});

test.each(['forward_backward', 'optim_step', 'save_weights', 'save_weights_for_sampler'])(
  'a forgotten answer of %s makes the step again from its beginning, on a new model',
  async (route) => {
    const notices: string[] = [];
    const backbone = await open({ notice: (message) => notices.push(message) });
    await backbone.trainStep(lesson());
    server.faults.forgets = route;
    await backbone.trainStep(lesson());
    await expectUndisturbed(backbone);
    expect(notices.at(-1)).toContain('begins with the weights of step 1');
  },
);

test('a lost session is opened again for a step, with the weights of the last one', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  server.loseSessions();
  await backbone.trainStep(lesson());
  await expectUndisturbed(backbone);
});

test('a lost session is opened again once for all calls that sample', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  const calls = () =>
    Promise.all([1, 2, 3].map((seed) => backbone.engine.generate({ promptIds: row, sampling: { ...sampling, seed } })));
  const before = await calls();
  server.loseSessions();
  server.requests.length = 0;
  expect(await calls()).toEqual(before);
  expect(server.requests.filter((route) => route === 'create_session')).toHaveLength(1);
});

describe.each([
  { averages: false, wire: 'json' },
  { averages: false, wire: 'protobuf' },
  { averages: true, wire: 'json' },
  { averages: true, wire: 'protobuf' },
] as const)('a model that the server has unloaded (averages: $averages, as $wire)', ({ averages, wire }) => {
  test.each(['status', 'error'] as const)(
    'fails the future by its %s, and the step is made again from its beginning, on a new model',
    async (how) => {
      server.faults.averages = averages;
      const backbone = await open({ wire });
      await backbone.trainStep(lesson());
      server.faults.failsUnloaded = how;
      server.loseSessions();
      await backbone.trainStep(lesson());
      await expectUndisturbed(backbone);
    },
  );

  test('is brought back for a call that samples', async () => {
    server.faults.averages = averages;
    const backbone = await open({ wire });
    await backbone.trainStep(lesson());
    const before = await backbone.engine.generate({ promptIds: row, sampling });
    server.faults.failsUnloaded = 'status';
    server.loseSessions();
    expect(await backbone.engine.generate({ promptIds: row, sampling })).toEqual(before);
  });
});

test('steps that were not kept are reported as lost', async () => {
  const notices: string[] = [];
  const backbone = await open({ keepStateEvery: 10, notice: (message) => notices.push(message) });
  await backbone.trainStep(lesson());
  server.loseSessions();
  await backbone.trainStep(lesson());
  expect(notices.at(-1)).toContain('1 optimizer steps since then are lost');
  expect(backbone.policyVersion).toBe(2);
});

test('an answer with every row twice is refused, and the weights are unchanged', async () => {
  const backbone = await open();
  const before = await scoreOf(backbone);
  server.faults.doubles = true;
  await expect(backbone.trainStep(lesson())).rejects.toMatchObject({ code: 'protocol' });
  const { ids } = await backbone.engine.generate({ promptIds: row, sampling });
  expect(ids).toHaveLength(4);
  server.faults.doubles = false;
  expect(await scoreOf(backbone)).toEqual(before);
});

test('logprobs that are not numbers make no step, and the next step is a whole one', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  server.faults.notANumber = true;
  await expect(backbone.trainStep(lesson())).rejects.toMatchObject({ code: 'non_finite_gradient' });
  expect(backbone.policyVersion).toBe(1);
  await backbone.trainStep(lesson());
  await expectUndisturbed(backbone);
});

const mean = (c: readonly number[]) => c.reduce((sum, value) => sum + value, 0) / c.length;

test.each([
  ['trained', 'nothing', (c) => c.map(() => 0)],
  ['repeatable', 'dropout', (c, _, call) => c.map((value) => value * (1 + call))],
  ['linear', 'a clip to 0.6', (c) => c.map((value) => Math.min(value, 0.6))],
  ['linear', 'a clip to 2', (c) => c.map((value) => Math.max(-2, Math.min(value, 2)))],
  ['odd', 'positive coefficients alone', (c) => c.map((value) => Math.max(value, 0))],
  ['odd', 'absolute values', (c) => c.map(Math.abs)],
  ['unchanged by zeros', 'a mean over the tokens of a row', (c) => c.map((value) => value / c.length)],
  ['unchanged by zeros', 'the mean coefficient of a row on every token', (c) => c.map(() => mean(c))],
  ['token by token', 'the first token alone', (c) => c.map((value, at) => (at === 0 ? value : 0))],
  ['token by token', 'coefficients one token too early', (c) => c.map((_, at) => c[at + 1] ?? 0)],
  ['unchanged by zeros', 'coefficients one token too late', (c) => c.map((_, at) => c[at - 1] ?? 0)],
  ['additive', 'a mean over rows', (c, numRows) => c.map((value) => value / numRows)],
  ['of the right sign', 'the other sign', (c) => c.map((value) => -value)],
] as const satisfies readonly (readonly [
  string,
  string,
  (c: readonly number[], numRows: number, call: number) => readonly number[],
])[])('a gradient that is not %s is refused with that property: %s', async (property, _, distort) => {
  let calls = 0;
  server.faults.distort = (c, _loss, numRows) => distort(c, numRows, calls++);
  await expect(open()).rejects.toMatchObject({
    code: 'wrong_gradient',
    message: expect.stringContaining(`it is not ${property} (`),
  });
});

test('a constant factor is not found out: Adam takes it out again', async () => {
  server.faults.distort = (c) => c.map((value) => 7 * value);
  await expect(open()).resolves.toBeDefined();
});

test('a server with one model for all is refused before it trains on with what the check has moved', async () => {
  server.faults.sharesModel = true;
  await expect(open()).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/one model for all.*tinker\.profile to verl/),
  });
});

test('on the profile of such a server no weight is moved', async () => {
  server.faults.sharesModel = true;
  const backbone = await open({ profile: 'verl', optimizer: { ...tinyTaskOptimizer, maxGradNorm: 0 } });
  const [found, expected] = [await scoreOf(backbone), await createTinyTaskBackbone(1).logprobs([{ ids: row }])];
  for (const [at, logprob] of found.entries()) expect(logprob).toBeCloseTo(expected[0]?.[at] ?? Number.NaN, 6);
});

test('a server that reports no norm is trained unchecked, with a notice, and refused by the strict profile', async () => {
  server.faults.hidesNorm = true;
  const notices: string[] = [];
  const backbone = await open({ notice: (message) => notices.push(message) });
  expect((await backbone.trainStep(lesson())).gradNorm).toBeNull();
  expect(notices[0]).toContain('unchecked');
  await expect(open({ profile: 'strict' })).rejects.toMatchObject({ code: 'bad_request' });
});

test.each(['strict', 'skyrl'] as const)(
  'a refusal for want of a norm names the profile in use: %s',
  async (profile) => {
    server.faults.hidesNorm = true;
    const optimizer = { ...tinyTaskOptimizer, maxGradNorm: 0 };
    await expect(open({ profile, optimizer })).rejects.toMatchObject({
      message: expect.stringContaining(`tinker.profile "${profile}"`),
    });
  },
);

test('a server that reports no norm is refused all the same if its gradient has the other sign', async () => {
  server.faults.hidesNorm = true;
  server.faults.distort = (c) => c.map((value) => -value);
  await expect(open()).rejects.toMatchObject({ code: 'wrong_gradient' });
});

test('a run of many requests keeps no listeners', async () => {
  const warnings: string[] = [];
  const hear = ({ name }: Error) => warnings.push(name);
  process.on('warning', hear);
  const client = new TinkerClient({ baseUrl: server.url, apiKey: 'tml-secret' });
  for (let round = 0; round < 80; round++)
    await Promise.all(Array.from({ length: 20 }, () => client.get('get_server_capabilities')));
  await new Promise(setImmediate);
  process.off('warning', hear);
  client.close();
  expect(warnings).toEqual([]);
});

test('a server that averages, as one that samples from the weights it trains, never does both at the same time', async () => {
  server.faults.averages = true;
  server.faults.slowSamplesMs = 100;
  const backbone = await open();
  const { forward_backward: before } = server.computed;
  const early = backbone.engine.generate({ promptIds: row, sampling });
  const gradientsMeanwhile = early.then(() => server.computed.forward_backward - before);
  const step = backbone.trainStep(lesson());
  const late = backbone.engine.generate({ promptIds: row, sampling });
  await step;
  expect(await gradientsMeanwhile).toBe(0);
  expect([(await early).policyVersion, (await late).policyVersion]).toEqual([0, 1]);
});

test('a server that adds up samples while it trains', async () => {
  const backbone = await open();
  const step = backbone.trainStep(lesson());
  const meanwhile = backbone.engine.generate({ promptIds: row, sampling });
  await step;
  expect((await meanwhile).policyVersion).toBe(0);
});

test('a wrong key is refused without being shown', async () => {
  const error = await open({ apiKey: 'tml-other' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'refused' });
  expect(String(error)).not.toContain('tml-other');
});

test('a KL estimate is taken against the initial weights, as in this process', async () => {
  const [backbone, local] = [await open(), createTinyTaskBackbone(1)];
  const batch = lesson({ ...policy, klCoef: 0.1 });
  for (let step = 0; step < 3; step++) {
    const [found, expected] = [await backbone.trainStep(batch), await local.trainStep(batch)];
    for (const key of ['loss', 'kl', 'gradNorm', 'clipFraction', 'logprobGapMax'] as const)
      expect(found[key]).toBeCloseTo(expected[key] ?? Number.NaN, 5);
  }
});

test('a server that holds one model refuses a KL estimate with what to set', async () => {
  const backbone = await open();
  server.faults.onlyOneModel = true;
  await expect(backbone.trainStep(lesson({ ...policy, klCoef: 0.1 }))).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('use_kl_loss'),
  });
});

test.each(['auto', 'verl'] as const)('and refuses it at start if the run will ask for one: %s', async (profile) => {
  server.faults.onlyOneModel = true;
  const optimizer = { ...tinyTaskOptimizer, maxGradNorm: 0 };
  await expect(open({ profile, optimizer, usesKl: true })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('use_kl_loss'),
  });
});

describe('the first line', () => {
  async function firstLine(options: Parameters<typeof open>[0]): Promise<string> {
    const notices: string[] = [];
    const optimizer = { ...tinyTaskOptimizer, maxGradNorm: 0 };
    await open({ optimizer, ...options, notice: (message) => notices.push(message) });
    return notices[0] ?? '';
  }

  test('says that a SkyRL server that adds up takes the rate of Adam alone, and not so of one that averages', async () => {
    expect(await firstLine({ profile: 'skyrl' })).toContain(
      'takes only the rate of Adam. It sets betas, eps and weight decay',
    );
    server.faults.averages = true;
    expect(await firstLine({ profile: 'skyrl' })).not.toContain('takes only the rate');
  });

  test('says that a verl server trains all weights, at any rank', async () => {
    expect(await firstLine({ profile: 'verl', rank: 32 })).toContain('all weights, because it makes no adapters');
    expect(await firstLine({ profile: 'tuft', rank: 32, wire: 'json' })).toContain('an adapter of rank 32');
  });

  test('says what is not known without a profile', async () => {
    const line = await firstLine({ optimizer: { ...tinyTaskOptimizer, maxGradNorm: 1 } });
    expect(line).toContain("Adam's constants and weight decay, and clips gradients, is not known");
  });
});

test.each([
  [{ ...policy, entropyCoef: 0.1 }, 'entropy_coeff'],
  [{ ...policy, temperature: 0.7 }, 'rollout.temperature'],
])('what cannot be trained exactly is refused with the key to change: %#', async (loss, key) => {
  const backbone = await open();
  await expect(backbone.trainStep(lesson(loss))).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining(key),
  });
});

test('with a limit of the importance weight the ratio is against the weights that the batch began with', async () => {
  const backbone = await open();
  const loss = { ...policy, correction: { level: 'token', mode: 'truncate', lower: 0, upper: 2 } } as const;
  const [found] = (await backbone.termLogprobs?.(lesson().packs, 1)) ?? [];
  const exact = await scoreOf(backbone);
  expect(found?.[0]).toBeCloseTo(exact[4] ?? Number.NaN, 5);
  const packs = (distance: number) =>
    lesson().packs.map((pack) => ({
      ...pack,
      terms: { ...pack.terms, proximal: found?.map((logprob) => logprob + distance) ?? new Float32Array(2) },
    }));
  const weights = [...(found ?? [])].map((logprob, k) => Math.min(Math.exp(logprob - (k === 0 ? -1.5 : -1.6)), 2));
  const metrics = await backbone.trainStep({ packs: packs(0), loss });
  expect(metrics.clipFraction).toBe(0);
  expect(metrics.loss).toBeCloseTo(-0.5 * (weights[0] ?? 0) + 0.5 * (weights[1] ?? 0), 5);
  expect((await backbone.trainStep({ packs: packs(-9), loss })).clipFraction).toBeGreaterThan(0);
});
