import { mkdtempSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { EngineError, type TokenSampling, type TreePack } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTorchBackbone, type TorchBackbone } from './create-torch-backbone.js';
import { hasTorch, makeTinyModel, sftBatch, startTiny, testOptimizer } from './testing-worker.js';
import { plainLoss } from '../../testing/plain-loss.js';
import { smallPack } from '../../testing/small-pack.js';

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 8, stopIds: [], seed: 7 };
const prompt = Int32Array.of(3, 1, 4, 1, 5);

/**
 * Makes a pack of one row that can be too long for the memory. On a CPU, attention needs a full mask: four terabytes
 * for two million tokens.
 */
function longRow(length: number): TreePack {
  const positions = Int32Array.from({ length }, (_, index) => index);
  return { ...smallPack(), ids: new Int32Array(length), positions, ends: new Int32Array(length).fill(length) };
}

describe.skipIf(!hasTorch)('torch backbone', () => {
  let modelDir: string;
  let backbone: TorchBackbone;

  beforeAll(async () => {
    modelDir = await makeTinyModel();
    backbone = await startTiny(modelDir);
  });
  afterAll(() => backbone.close());

  test('says what it runs on', () => {
    expect(backbone.workerInfo).toMatchObject({ device: 'cpu', dtype: 'float32', numRanks: 1 });
    expect(backbone.engine.contextLength).toBe(128);
  });

  test('logprobs of sampled tokens are those that it trains', async () => {
    const completion = await backbone.engine.generate({ promptIds: prompt, sampling });
    const [row] = await backbone.logprobs([{ ids: Int32Array.from([...prompt, ...completion.ids]) }]);
    expect(completion.ids).toHaveLength(8);
    completion.logprobs.forEach((logprob, index) =>
      expect(logprob).toBeCloseTo(row?.[prompt.length + index] ?? NaN, 4),
    );
  });

  test('with a limit of the importance weight clips against the logprobs that a batch of several steps begins with', async () => {
    const capped = await startTiny(modelDir);
    const loss = { ...plainLoss, correction: { level: 'token', mode: 'truncate', lower: 0, upper: 2 } } as const;
    const row = Int32Array.of(5, 6, 7);
    const [[found], [exact]] = [
      (await capped.termLogprobs?.([smallPack()], 1)) ?? [],
      await capped.logprobs([{ ids: row }]),
    ];
    expect(found).toHaveLength(2);
    expect(found?.[0]).toBeCloseTo(exact?.[2] ?? NaN, 5);
    const packs = (distance: number) => [
      {
        ...smallPack(),
        terms: { ...smallPack().terms, proximal: found?.map((logprob) => logprob + distance) ?? new Float32Array(2) },
      },
    ];
    expect((await capped.trainStep({ packs: packs(0), loss })).clipFraction).toBe(0);
    expect((await capped.trainStep({ packs: packs(-9), loss })).clipFraction).toBeGreaterThan(0);
    await capped.close();
  });

  test('the same seed gives the same tokens alone and next to other calls', async () => {
    const alone = await backbone.engine.generate({ promptIds: prompt, sampling });
    const others = Array.from({ length: 9 }, (_, seed) =>
      backbone.engine.generate({ promptIds: Int32Array.of(9, seed), sampling: { ...sampling, seed } }),
    );
    const amongOthers = await backbone.engine.generate({ promptIds: prompt, sampling });
    await Promise.all(others);
    expect([...amongOthers.ids]).toEqual([...alone.ids]);
    const ms = expect.any(Number) as unknown;
    expect(amongOthers.timing).toEqual({ queuedMs: ms, prefillMs: ms, decodeMs: ms });
  });

  test('greedy sampling takes the likeliest and top-k of one does too', async () => {
    const greedy = await backbone.engine.generate({ promptIds: prompt, sampling: { ...sampling, temperature: 0 } });
    const first = await backbone.engine.generate({ promptIds: prompt, sampling: { ...sampling, topK: 1 } });
    expect([...first.ids]).toEqual([...greedy.ids]);
    expect(Math.max(...first.logprobs.map(Math.abs))).toBeLessThan(1e-6);
    expect(Math.max(...greedy.logprobs)).toBeLessThan(-0.5);
  });

  test('a stop id ends the answer and is its last id', async () => {
    const free = await backbone.engine.generate({ promptIds: prompt, sampling });
    const stopId = free.ids[2] ?? -1;
    const stopped = await backbone.engine.generate({ promptIds: prompt, sampling: { ...sampling, stopIds: [stopId] } });
    expect(stopped.finishReason).toBe('stop');
    expect([...stopped.ids]).toEqual([...free.ids].slice(0, free.ids.indexOf(stopId) + 1));
  });

  test('hands on every token once, in order, and stops when the callback says so', async () => {
    const heard: number[] = [];
    const whole = await backbone.engine.generate({ promptIds: prompt, sampling, onToken: (id) => void heard.push(id) });
    expect(heard).toEqual([...whole.ids]);
    let count = 0;
    const cut = await backbone.engine.generate({
      promptIds: prompt,
      sampling,
      onToken: () => (++count === 3 ? 'stop' : undefined),
    });
    expect([...cut.ids]).toEqual(heard.slice(0, 3));
    expect(cut.finishReason).toBe('stop');
    expect(count).toBe(3);
  });

  test('an aborted call rejects and frees its slot for the calls that wait', async () => {
    const controller = new AbortController();
    const long = Array.from({ length: 6 }, () =>
      backbone.engine.generate({
        promptIds: prompt,
        sampling: { ...sampling, maxTokens: 120 },
        signal: controller.signal,
      }),
    );
    controller.abort();
    for (const call of long) await expect(call).rejects.toMatchObject({ code: 'aborted' });
    await expect(backbone.engine.generate({ promptIds: prompt, sampling })).resolves.toMatchObject({
      finishReason: 'length',
    });
  });

  test('a prompt without room is an error of its caller alone', async () => {
    const tooLong = backbone.engine.generate({ promptIds: new Int32Array(128), sampling });
    await expect(tooLong).rejects.toSatisfy(
      (error) => error instanceof EngineError && error.code === 'context_overflow',
    );
    await expect(backbone.engine.generate({ promptIds: Int32Array.of(99_999), sampling })).rejects.toMatchObject({
      code: 'bad_request',
    });
    await expect(backbone.engine.generate({ promptIds: new Int32Array(127), sampling })).resolves.toMatchObject({
      finishReason: 'length',
    });
  });

  test('trains, and samples from the new weights under the next version', async () => {
    const before = await backbone.logprobs([{ ids: Int32Array.of(5, 6, 7) }]);
    const version = backbone.policyVersion;
    const metrics = await backbone.trainStep(sftBatch());
    const after = await backbone.logprobs([{ ids: Int32Array.of(5, 6, 7) }]);
    const completion = await backbone.engine.generate({ promptIds: prompt, sampling });
    expect(metrics).toMatchObject({ policyVersion: version + 1, trainedTokens: 2, rowTokens: 6, treeTokens: 4 });
    expect(metrics).toMatchObject({ secondsCompiling: 0 }); // a CPU does not compile by default
    expect(after[0]?.[2]).toBeGreaterThan(before[0]?.[2] ?? 0);
    expect(completion.policyVersion).toBe(version + 1);
  });

  test('lets a running answer finish before the weights change, and keeps new ones waiting', async () => {
    const version = backbone.policyVersion;
    let step: Promise<unknown> | undefined;
    const onToken = (): undefined => void (step ??= backbone.trainStep(sftBatch()));
    const running = await backbone.engine.generate({
      promptIds: prompt,
      sampling: { ...sampling, maxTokens: 40 },
      onToken,
    });
    await step;
    expect(running.policyVersion).toBe(version);
    expect((await backbone.engine.generate({ promptIds: prompt, sampling })).policyVersion).toBe(version + 1);
  });

  test('an aborted step leaves weights and version as they were', async () => {
    const controller = new AbortController();
    const row = [{ ids: Int32Array.of(5, 6, 7, 8) }];
    const before = await backbone.logprobs(row);
    const packs = Array.from({ length: 400 }, smallPack);
    const step = backbone.trainStep({ packs, loss: { kind: 'sft' } }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    await expect(step).rejects.toMatchObject({ code: 'aborted' });
    expect(await backbone.logprobs(row)).toEqual(before);
  });

  test('refuses packs that point outside their arrays, and trains the next ones', async () => {
    const pack = { ...smallPack(), predictors: Int32Array.of(1, 9) };
    await expect(backbone.trainStep({ packs: [pack], loss: { kind: 'sft' } })).rejects.toMatchObject({
      code: 'bad_batch',
    });
    await expect(backbone.trainStep(sftBatch())).resolves.toMatchObject({ trainedTokens: 2 });
  });

  test('that runs out of memory says what to turn down, with its own code, and lives on', async () => {
    await expect(backbone.trainStep({ packs: [longRow(2_000_000)], loss: { kind: 'sft' } })).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringContaining('max_pack_tokens') as unknown,
    });
    await expect(backbone.logprobs([{ ids: Int32Array.of(1, 2, 3) }])).resolves.toHaveLength(1);
  });

  test('resumes from its checkpoint exactly, and refuses one that was cut', async () => {
    const dir = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-checkpoint-')), 'step-1');
    await backbone.save(dir);
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(['config.json', 'model.safetensors', 'trainer_state']));
    const version = backbone.policyVersion;
    const first = await backbone.trainStep(sftBatch());
    await backbone.trainStep(sftBatch());
    await backbone.load(dir);
    expect(backbone.policyVersion).toBe(version);
    expect(await backbone.trainStep(sftBatch())).toMatchObject({ loss: first.loss, gradNorm: first.gradNorm });
    truncateSync(path.join(dir, 'trainer_state/shard-00001-of-00001.safetensors'), 1000);
    await expect(backbone.load(dir)).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining('shard-00001') as unknown,
    });
    await expect(backbone.load(modelDir)).rejects.toMatchObject({ code: 'checkpoint' });
  });
});

describe.skipIf(!hasTorch)('a torch backbone that cannot start', () => {
  test('names the file that is missing or broken', async () => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'ajet-broken-'));
    await expect(startTiny(dir)).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringContaining('config.json') as unknown,
    });
    writeFileSync(path.join(dir, 'config.json'), '{');
    await expect(startTiny(dir)).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringContaining('not JSON') as unknown,
    });
    writeFileSync(path.join(dir, 'config.json'), '{}');
    await expect(startTiny(dir)).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringContaining('model.safetensors') as unknown,
    });
  });

  test('says which interpreter is not there', async () => {
    const options = { modelDir: '/nowhere', optimizer: testOptimizer, seed: 1, python: '/nowhere/python' };
    await expect(createTorchBackbone(options)).rejects.toMatchObject({
      code: 'no_python',
      message: expect.stringContaining('setup:torch') as unknown,
    });
  });

  test('wants a token for an address that others can reach', async () => {
    const options = { modelDir: '/nowhere', optimizer: testOptimizer, seed: 1, listenHost: '0.0.0.0' };
    await expect(createTorchBackbone(options)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('token') as unknown,
    });
  });
});
