import { describe, expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import type { Completion, TokenSampling } from '@agentjet/core';
import { EmbeddedEngine } from './embedded-engine.js';
import { HashStepModel } from '../../../testing/hash-step-model.js';
import type { HashModelOptions } from '../../../testing/hash-step-model.js';
import { createTestEngine } from './testing-engine.js';
import { referenceCompletion } from '../../../testing/reference-completion.js';
import type { SchedulerOptions } from './scheduler.js';

const plenty: SchedulerOptions = {
  maxBatchSize: 16,
  prefillTokens: 64,
  maxKvBytes: 1 << 24,
  maxPrefixCacheBytes: 1 << 22,
};
const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 12, stopIds: [], seed: 1 };

function setup(options: Partial<SchedulerOptions> = {}, modelOptions: HashModelOptions = {}) {
  const model = new HashStepModel(modelOptions);
  return { model, engine: createTestEngine(model, { ...plenty, ...options }, 3) };
}

function expectSame(completion: Completion, reference: { ids: number[]; logprobs: number[] }): void {
  expect([...completion.ids]).toEqual(reference.ids);
  for (const [index, logprob] of reference.logprobs.entries())
    expect(completion.logprobs[index]).toBeCloseTo(logprob, 4);
}

function randomIds(length: number, seed: number, vocabSize = 40): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.int(vocabSize));
}

/** Prompts of many lengths with many kinds of sampling. */
function mixedCalls(count: number, longest: number): { promptIds: Int32Array; sampling: TokenSampling }[] {
  const random = createRandom(5);
  return Array.from({ length: count }, (_, index) => ({
    promptIds: randomIds(1 + random.int(longest), index % 5),
    sampling: {
      temperature: [0, 0.7, 1, 1.5][index % 4] ?? 1,
      topP: [1, 0.8][index % 2] ?? 1,
      topK: [0, 6, 0][index % 3] ?? 0,
      maxTokens: 1 + random.int(30),
      stopIds: index % 3 === 0 ? [7, 9] : [],
      seed: index,
    },
  }));
}

async function expectAllRight(
  engine: EmbeddedEngine,
  model: HashStepModel,
  calls: ReturnType<typeof mixedCalls>,
): Promise<void> {
  const completions = await Promise.all(calls.map((call) => engine.generate(call)));
  for (const [index, completion] of completions.entries()) {
    const call = calls[index];
    if (call !== undefined) expectSame(completion, referenceCompletion(model, call.promptIds, call.sampling));
  }
}

describe('a batch of calls', () => {
  it('gives each call what it would get alone', async () => {
    const { engine, model } = setup();
    await expectAllRight(engine, model, mixedCalls(40, 50));
    expect(engine.stats).toMatchObject({ running: 0, waiting: 0 });
    expect(Math.max(...model.passes.map(({ numRows }) => numRows))).toBeGreaterThan(8);
  });

  it('lets calls join and leave between tokens', async () => {
    const { engine, model } = setup();
    const calls = mixedCalls(24, 30);
    const results = calls.map(async (call, index) => {
      for (let turn = 0; turn < index; turn += 1) await new Promise(setImmediate);
      return { call, completion: await engine.generate(call) };
    });
    for (const { call, completion } of await Promise.all(results))
      expectSame(completion, referenceCompletion(model, call.promptIds, call.sampling));
  });

  it('keeps rows of very different length apart', async () => {
    const { engine, model } = setup({ prefillTokens: 700 }, { contextLength: 1400 });
    const calls = [700, 30, 510, 1390, 20, 1000].map((length, seed) => ({
      promptIds: randomIds(length, seed),
      sampling: { ...plain, seed },
    }));
    await expectAllRight(engine, model, calls);
    expect(model.passes.some(({ pastLength, numRows }) => pastLength <= 64 && numRows > 1)).toBe(true);
  });

  it.each([0, 100, 2000, 1e9])(
    'moves rows between batches without mixing them up (a pass costs %d tokens)',
    async (passCost) => {
      const { engine, model } = setup({ maxBatchSize: 12, prefillTokens: 100 }, { contextLength: 420, passCost });
      const random = createRandom(8);
      const calls = Array.from({ length: 40 }, (_, seed) => ({
        promptIds: randomIds(1 + random.int(seed % 4 === 0 ? 380 : 120), seed),
        sampling: { ...plain, seed, maxTokens: 1 + random.int(seed % 5 === 0 ? 150 : 20) },
      }));
      await expectAllRight(engine, model, calls);
      const strides = new Set(model.passes.map(({ pastLength }) => pastLength));
      expect(strides.size).toBeGreaterThan(passCost < 1e9 ? 2 : 0);
    },
  );

  it('ends at a stop id, at maxTokens and at the end of the context', async () => {
    const { engine, model } = setup();
    const [promptIds, nearEnd] = [randomIds(8, 1), randomIds(94, 2)];
    const free = referenceCompletion(model, promptIds, plain);
    const stopId = free.ids[4] ?? -1;
    const stopped = await engine.generate({ promptIds, sampling: { ...plain, stopIds: [stopId] } });
    expect(stopped).toMatchObject({ finishReason: 'stop', policyVersion: 3 });
    expect([...stopped.ids]).toEqual(free.ids.slice(0, free.ids.indexOf(stopId) + 1));
    expect((await engine.generate({ promptIds, sampling: plain })).finishReason).toBe('length');
    const full = await engine.generate({ promptIds: nearEnd, sampling: plain });
    expect([full.ids.length, full.finishReason]).toEqual([2, 'length']);
  });

  it('does not let a long prompt stall those that sample, or short prompts that come later', async () => {
    const { engine } = setup({ prefillTokens: 16 }, { contextLength: 700 });
    const order: string[] = [];
    const running = engine.generate({
      promptIds: randomIds(4, 1),
      sampling: { ...plain, maxTokens: 20 },
      onToken: () => (order.push('token') > 0 ? undefined : 'stop'),
    });
    await new Promise(setImmediate);
    const long = engine
      .generate({ promptIds: randomIds(600, 2), sampling: { ...plain, maxTokens: 1 } })
      .then(() => order.push('long'));
    const short = engine
      .generate({ promptIds: randomIds(6, 3), sampling: { ...plain, maxTokens: 2 } })
      .then(() => order.push('short'));
    await Promise.all([running, long, short]);
    expect(order.indexOf('short')).toBeLessThan(8);
    expect(order.at(-1)).toBe('long');
    expect(order.filter((entry) => entry === 'token')).toHaveLength(20);
  });
});

describe('memory', () => {
  it('holds running calls to its limit, sends the youngest back, and still gives each its own tokens', async () => {
    const bytesPerToken = 2 * 2 * 2 * 4 * 4;
    const limit = 6 * 96 * bytesPerToken;
    const { engine, model } = setup({ maxKvBytes: limit, maxPrefixCacheBytes: 0 });
    let most = 0;
    model.onRun = () => {
      most = Math.max(most, engine.stats.kvBytes);
    };
    await expectAllRight(engine, model, mixedCalls(30, 60));
    expect(most).toBeLessThanOrEqual(limit);
    expect(engine.stats.preemptions).toBeGreaterThan(0);
  });

  it('serves a call that needs more than the limit alone', async () => {
    const { engine, model } = setup({ maxKvBytes: 1 });
    await expectAllRight(engine, model, mixedCalls(6, 90));
  });

  it('queues what exceeds the batch size', async () => {
    const { engine, model } = setup({ maxBatchSize: 3 });
    await expectAllRight(engine, model, mixedCalls(12, 30));
    expect(Math.max(...model.passes.map(({ numRows }) => numRows))).toBe(3);
  });
});

describe('prefix cache', () => {
  it('reads only the new tail of a longer conversation, and changes nothing', async () => {
    const { engine, model } = setup();
    let promptIds = randomIds(20, 1);
    for (let turn = 0; turn < 4; turn += 1) {
      const before = engine.stats;
      const completion = await engine.generate({ promptIds, sampling: { ...plain, maxTokens: 6, seed: turn } });
      expectSame(completion, referenceCompletion(model, promptIds, { ...plain, maxTokens: 6, seed: turn }));
      const read = engine.stats.prefilledTokens - before.prefilledTokens;
      expect(read).toBe(turn === 0 ? 20 : 6);
      promptIds = Int32Array.from([...promptIds, ...completion.ids, ...randomIds(5, turn)]);
    }
  });

  it('reads a prompt that siblings share once', async () => {
    const { engine, model } = setup({ prefillTokens: 32 });
    const promptIds = randomIds(60, 1);
    const calls = Array.from({ length: 8 }, (_, seed) => ({ promptIds, sampling: { ...plain, seed } }));
    await expectAllRight(engine, model, calls);
    expect(engine.stats.prefilledTokens).toBe(60 + 7);
    expect(engine.stats.reusedTokens).toBe(7 * 59);
  });

  it('does not hold a call back whose sibling is aborted', async () => {
    const { engine, model } = setup({ prefillTokens: 8 });
    const promptIds = randomIds(60, 1);
    const controller = new AbortController();
    const first = engine.generate({ promptIds, sampling: plain, signal: controller.signal });
    const second = engine.generate({ promptIds, sampling: plain });
    await new Promise(setImmediate);
    controller.abort();
    await expect(first).rejects.toMatchObject({ code: 'aborted' });
    expectSame(await second, referenceCompletion(model, promptIds, plain));
  });

  it('stays within its bytes while conversations come and go, with the same tokens', async () => {
    const limit = 40_000;
    const { engine, model } = setup({ maxPrefixCacheBytes: limit });
    for (let round = 0; round < 6; round += 1) {
      await expectAllRight(engine, model, mixedCalls(10, 40 + round));
      expect(engine.stats.prefixCacheBytes).toBeLessThanOrEqual(limit);
    }
    expect(engine.stats.reusedTokens).toBeGreaterThan(0);
  });

  it('forgets everything when the weights change', async () => {
    const changed = new HashStepModel({ salt: 2 });
    let weights = { model: new HashStepModel(), policyVersion: 3, close: async () => undefined };
    const engine = new EmbeddedEngine({ shape: changed, open: async () => weights }, plenty);
    const promptIds = randomIds(30, 1);
    await engine.generate({ promptIds, sampling: plain });
    await engine.changeWeights(async () => {
      weights = { ...weights, model: changed, policyVersion: 4 };
    });
    expect(engine.stats).toMatchObject({ prefixCacheBytes: 0, kvBytes: 0 });
    const completion = await engine.generate({ promptIds, sampling: plain });
    expectSame(completion, referenceCompletion(changed, promptIds, plain));
    expect(completion.policyVersion).toBe(4);
  });
});

it('says how long a call waited, read its prompt and sampled', async () => {
  let now = 0;
  const model = new HashStepModel();
  model.onRun = () => (now += 10);
  const weights = { model, policyVersion: 0, close: async () => undefined };
  const engine = new EmbeddedEngine(
    { shape: model, open: async () => weights },
    { ...plenty, maxBatchSize: 1 },
    () => now,
  );
  const call = { promptIds: randomIds(9, 1), sampling: plain };
  const [first, second] = await Promise.all([engine.generate(call), engine.generate(call)]);
  expect(first.timing).toEqual({ queuedMs: 0, prefillMs: 10, decodeMs: 110 }); // one pass reads and draws, eleven draw
  expect(second.timing).toEqual({ queuedMs: 120, prefillMs: 10, decodeMs: 110 });
});

describe('leaving early', () => {
  it('ends a call with the token at which onToken says stop', async () => {
    const { engine, model } = setup();
    const promptIds = randomIds(10, 1);
    const seen: number[] = [];
    const completion = await engine.generate({
      promptIds,
      sampling: plain,
      onToken: (id) => (seen.push(id) === 3 ? 'stop' : undefined),
    });
    const reference = referenceCompletion(model, promptIds, plain);
    expect(completion.finishReason).toBe('stop');
    expect([...completion.ids]).toEqual(reference.ids.slice(0, 3));
    expect(seen).toEqual(reference.ids.slice(0, 3));
  });

  it('frees an aborted call at once and leaves the others alone', async () => {
    const { engine, model } = setup({ maxBatchSize: 2 });
    const calls = mixedCalls(6, 30).map((call) => ({
      ...call,
      sampling: { ...call.sampling, maxTokens: 40, stopIds: [] },
    }));
    const controllers = calls.map(() => new AbortController());
    const abortEven = (index: number): undefined => {
      if (index % 2 === 0) controllers[index]?.abort();
    };
    const results = calls.map((call, index) =>
      engine.generate({
        ...call,
        ...(controllers[index] && { signal: controllers[index].signal }),
        onToken: () => abortEven(index),
      }),
    );
    const settled = await Promise.allSettled(results);
    for (const [index, result] of settled.entries()) {
      const call = calls[index];
      if (index % 2 === 0)
        expect(result).toMatchObject({ status: 'rejected', reason: { code: 'aborted', name: 'EngineError' } });
      else if (result.status === 'fulfilled' && call !== undefined)
        expectSame(result.value, referenceCompletion(model, call.promptIds, call.sampling));
      else throw new Error(`Call ${index} failed.`);
    }
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(engine.stats).toMatchObject({ running: 0, waiting: 0 });
  });

  it('rejects a call whose signal was aborted before, and one that waits', async () => {
    const { engine } = setup({ maxBatchSize: 1 });
    await expect(
      engine.generate({ promptIds: randomIds(3, 1), sampling: plain, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'aborted' });
    const running = engine.generate({ promptIds: randomIds(3, 1), sampling: plain });
    const controller = new AbortController();
    const waiting = engine.generate({ promptIds: randomIds(3, 2), sampling: plain, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    expect((await running).ids).toHaveLength(12);
  });

  it('fails the one call whose onToken throws', async () => {
    const { engine, model } = setup();
    const promptIds = randomIds(9, 1);
    const broken = engine.generate({
      promptIds,
      sampling: plain,
      onToken: () => {
        throw new Error('no disk');
      },
    });
    const fine = engine.generate({ promptIds, sampling: { ...plain, seed: 2 } });
    await expect(broken).rejects.toThrow(/onToken threw: no disk/);
    expectSame(await fine, referenceCompletion(model, promptIds, { ...plain, seed: 2 }));
  });

  it('rejects what is left when it closes, and new calls after', async () => {
    const { engine } = setup();
    const running = engine.generate({ promptIds: randomIds(3, 1), sampling: plain });
    const outcome = expect(running).rejects.toMatchObject({ code: 'closed' });
    await engine.close();
    await outcome;
    await expect(engine.generate({ promptIds: randomIds(3, 1), sampling: plain })).rejects.toMatchObject({
      code: 'closed',
    });
  });
});

describe('a wrong request', () => {
  it.each([
    ['an empty prompt', { promptIds: new Int32Array(0) }, 'bad_request', /prompt is empty/],
    [
      'a prompt that fills the context',
      { promptIds: new Int32Array(96) },
      'context_overflow',
      /96 tokens; the context holds 96/,
    ],
    [
      'a token outside the vocabulary',
      { promptIds: Int32Array.of(1, 40) },
      'bad_request',
      /token 1 is 40, outside the vocabulary 0..39/,
    ],
    ['a negative token', { promptIds: Int32Array.of(-1) }, 'bad_request', /token 0 is -1/],
    ['a negative temperature', { sampling: { ...plain, temperature: -1 } }, 'bad_request', /temperature is -1/],
    [
      'a temperature that is not a number',
      { sampling: { ...plain, temperature: NaN } },
      'bad_request',
      /temperature is NaN/,
    ],
    ['a topP of zero', { sampling: { ...plain, topP: 0 } }, 'bad_request', /topP is 0/],
    ['a fractional topK', { sampling: { ...plain, topK: 1.5 } }, 'bad_request', /topK is 1.5/],
    ['no tokens to generate', { sampling: { ...plain, maxTokens: 0 } }, 'bad_request', /maxTokens is 0/],
  ])('%s is an error to its caller alone', async (_, change, code, message) => {
    const { engine, model } = setup();
    const promptIds = randomIds(5, 1);
    const fine = engine.generate({ promptIds, sampling: plain });
    const wrong = engine.generate({ promptIds, sampling: plain, ...change });
    await expect(wrong).rejects.toMatchObject({ name: 'EngineError', code, message: expect.stringMatching(message) });
    expectSame(await fine, referenceCompletion(model, promptIds, plain));
  });
});

describe('broken weights', () => {
  it('fail the calls that meet them, and nothing that shares their batch or takes their place', async () => {
    const { engine, model } = setup();
    model.brokenId = 39;
    const good = mixedCalls(8, 30).map(({ promptIds, sampling }) => ({
      promptIds: promptIds.map((id) => id % 39),
      sampling: { ...sampling, topK: 1 },
    }));
    const clean = good.filter(
      ({ promptIds, sampling }) => !referenceCompletion(model, promptIds, sampling).ids.includes(39),
    );
    const running = expectAllRight(engine, model, clean);
    const bad = engine
      .generate({ promptIds: Int32Array.of(3, 39, 4), sampling: plain })
      .catch((error: unknown) => error);
    await expectAllRight(engine, model, clean);
    await running;
    expect(await bad).toMatchObject({ code: 'failed', message: expect.stringMatching(/not numbers.*NaN/) });
    await expectAllRight(engine, model, clean);
  });

  it('a pass that throws fails its calls and leaves the engine usable', async () => {
    const { engine, model } = setup();
    const promptIds = randomIds(5, 1);
    model.onRun = () => {
      throw new Error('out of memory');
    };
    await expect(engine.generate({ promptIds, sampling: plain })).rejects.toMatchObject({
      code: 'failed',
      message: expect.stringMatching(/out of memory/),
    });
    model.onRun = () => undefined;
    expectSame(await engine.generate({ promptIds, sampling: plain }), referenceCompletion(model, promptIds, plain));
  });
});
