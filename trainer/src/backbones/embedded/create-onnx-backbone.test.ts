import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Backbone, GenerateRequest } from '@agentjet/core';
import { writeModelFolder } from '../../model-files/model-folder.js';
import { plainOptimizer, tinyConfigJson, tinyModel } from './training/testing-model.js';
import { backboneCases } from '../../testing/backbone-cases.js';
import { engineCases } from '../../testing/engine-cases.js';
import { weightsCases } from '../../testing/weights-cases.js';
import { createOnnxBackbone } from './create-onnx-backbone.js';
import type { OnnxBackboneOptions } from './create-onnx-backbone.js';
import { openLocalOnnxBackbone } from './local-onnx-backbone.js';
import type { ToWorker } from './worker/protocol.js';
import { connectBackbone } from './worker/worker-backbone.js';
import { BackboneServer } from './worker/serve-backbone.js';
import type { WorkerThread } from './worker/worker-client.js';

const { vocab_size: vocabSize } = tinyConfigJson;
const request: GenerateRequest = {
  promptIds: Int32Array.of(1, 2, 3),
  sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 12, stopIds: [], seed: 1 },
};
const endless: GenerateRequest = { ...request, sampling: { ...request.sampling, maxTokens: 60 } };
let modelDir = '';

beforeAll(async () => {
  modelDir = path.join(await mkdtemp(path.join(tmpdir(), 'agentjet-onnx-')), 'model');
  await writeModel(modelDir, (weights) => weights);
});

afterAll(async () => {
  await rm(path.dirname(modelDir), { recursive: true, force: true });
});

async function writeModel(
  dir: string,
  change: (weights: Float32Array) => Float32Array,
  configJson: object = {},
): Promise<void> {
  const { layout, parameters } = tinyModel({ configJson });
  const tensors = layout.parameters.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: change(Float32Array.from(parameters.subarray(offset, offset + size))),
  }));
  await writeModelFolder(dir, { config: { ...tinyConfigJson, ...configJson }, tensors });
}

function open(options: Partial<OnnxBackboneOptions> = {}): Promise<Backbone> {
  return createOnnxBackbone({ modelDir, optimizer: plainOptimizer, threads: 1, isInThread: true, ...options });
}

/**
 * A port that looks like a worker. It runs the whole protocol without the second that it takes to start a thread from
 * TypeScript.
 */
class PortWorker implements WorkerThread {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  postMessage(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  on(event: 'message' | 'error' | 'exit', listener: (value: never) => void): void {
    this.#port.on(
      event === 'exit' ? 'close' : event === 'error' ? 'messageerror' : 'message',
      listener as (value: unknown) => void,
    );
  }

  ref(): void {
    this.#port.ref();
  }

  unref(): void {
    this.#port.unref();
  }
}

async function openOverPort(): Promise<Backbone> {
  const { port1, port2 } = new MessageChannel();
  const connected = connectBackbone(new PortWorker(port1), { modelDir, threads: 1 });
  const local = await openLocalOnnxBackbone({ modelDir, optimizer: plainOptimizer, threads: 1, engine: {} });
  new BackboneServer(local, port2, () => port2.close()).start();
  return connected;
}

describe.each([
  ['in the calling thread', open],
  ['over messages', openOverPort],
])('the embedded backbone %s', (_, openBackbone: () => Promise<Backbone>) => {
  const openEngine = async () => {
    const backbone = await openBackbone();
    return { engine: backbone.engine, vocabSize, close: () => backbone.close() };
  };

  describe('as an engine', () => {
    for (const { name, run } of engineCases(openEngine)) it(name, run);

    it('says where the time of a call went', async () => {
      const { engine, close } = await openEngine();
      const ms = expect.any(Number) as unknown;
      expect((await engine.generate(request)).timing).toEqual({ queuedMs: ms, prefillMs: ms, decodeMs: ms });
      await close();
    });
  });
  for (const { name, run } of backboneCases(openBackbone)) it(name, run);
  for (const { name, run } of weightsCases(openBackbone, { vocabSize })) it(name, run);
});

describe('the embedded backbone with an adapter', () => {
  const openAdapted = () => open({ lora: { rank: 2, alpha: 4 } });
  for (const { name, run } of weightsCases(openAdapted, { vocabSize })) it(name, run);

  it('begins with the answers of the model, and the seed chooses what it learns', async () => {
    const [base, adapted, other] = [await open(), await openAdapted(), await open({ lora: { rank: 2 }, seed: 2 })];
    const answers = [];
    for (const { engine } of [base, adapted, other]) answers.push(await engine.generate(request));
    for (const { ids, logprobs } of answers.slice(1))
      expect([ids, logprobs]).toEqual([answers[0]?.ids, answers[0]?.logprobs]);
    for (const backbone of [base, adapted, other]) await backbone.close();
  });
});

describe('the embedded backbone with frozen weights in fewer bits', () => {
  const lora = { rank: 2, alpha: 4 };
  const openHalves = () => open({ lora, frozenWeights: 'float16' });
  for (const { name, run } of weightsCases(openHalves, { vocabSize })) it(`in float16, ${name}`, run);

  it('trains and answers in int8, and promises no exact repetition', async () => {
    const even = path.join(modelDir, '..', 'even');
    await writeModel(even, (weights) => weights, { hidden_size: 32, intermediate_size: 64, head_dim: 8 });
    const backbone = await open({ modelDir: even, lora, frozenWeights: 'int8' });
    const [whole, tuned] = [await open(), backbone].map(({ capabilities }) => capabilities.repeatsSeed);
    expect([whole, tuned]).toEqual([true, false]);
    const { ids } = await backbone.engine.generate(request);
    const row = { ids: Int32Array.of(...request.promptIds, ...ids) };
    const before = await backbone.logprobs([row]);
    const checkpoint = path.join(modelDir, '..', 'int8');
    await backbone.save(checkpoint);
    const again = await open({ modelDir: even, lora, seed: 9, frozenWeights: 'int8' });
    await again.load(checkpoint);
    expect(await again.logprobs([row])).toEqual(before);
    const answering = await open({ modelDir: even, train: false, frozenWeights: 'int8' });
    expect((await answering.engine.generate(request)).ids).toHaveLength(12);
    await expect(answering.save(checkpoint)).rejects.toThrow('has no trained weights to save');
    for (const each of [backbone, again, answering]) await each.close();
  });

  it('refuses to train all weights in them', async () => {
    await expect(open({ frozenWeights: 'int8' })).rejects.toThrow(
      'onnx.frozen_weights is int8, but all weights are trained here (lora.rank is 0)',
    );
  });
});

describe('in its worker thread', () => {
  it('leaves the event loop of its caller free, and lets the process end', async () => {
    const backbone = await open({ isInThread: false });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const completions = await Promise.all(
      Array.from({ length: 16 }, (_, seed) =>
        backbone.engine.generate({ ...endless, sampling: { ...endless.sampling, seed } }),
      ),
    );
    clearInterval(timer);
    expect(completions.every(({ ids }) => ids.length === 60)).toBe(true);
    expect(turns).toBeGreaterThan(3);
    await backbone.close();
  });

  it('rejects everything under way when the thread dies, and everything after', async () => {
    // The worker never answers, so every request stays in progress. It does not run native code, because a thread that
    // is terminated in native code ends the process.
    const deaf =
      "require('node:worker_threads').parentPort.on('message', () => {}).postMessage({ type: 'ready', contextLength: 64, policyVersion: 0 });";
    const worker = new Worker(deaf, { eval: true });
    const backbone = await connectBackbone(worker, { modelDir, threads: 1 });
    const died = {
      code: 'failed',
      message: expect.stringMatching(/thread of the onnx backbone has died: exit code 1.*last checkpoint/),
    };
    const running = [
      backbone.engine.generate(endless),
      backbone.trainStep({ packs: [], loss: { kind: 'sft' } }),
      backbone.save(path.join(modelDir, '..', 'never')),
    ];
    const outcomes = Promise.allSettled(running);
    await worker.terminate();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: died });
    expect(backbone.gone?.reason).toMatchObject(died);
    await expect(backbone.engine.generate(request)).rejects.toMatchObject({ ...died, name: 'EngineError' });
    await expect(backbone.logprobs([])).rejects.toMatchObject({ ...died, name: 'BackboneError' });
    await backbone.close();
  });

  it('says why it cannot open', async () => {
    await expect(open({ isInThread: false, modelDir: path.join(modelDir, 'nowhere') })).rejects.toMatchObject({
      name: 'BackboneError',
      code: 'bad_model_files',
      message: expect.stringContaining('nowhere'),
    });
  });
});

describe('without training', () => {
  it('samples and scores, and refuses a step', async () => {
    const backbone = await createOnnxBackbone({ modelDir, train: false, threads: 1, isInThread: true });
    expect((await backbone.engine.generate(request)).ids).toHaveLength(12);
    expect(await backbone.logprobs([{ ids: Int32Array.of(1, 2) }])).toHaveLength(1);
    await expect(backbone.trainStep({ packs: [], loss: { kind: 'sft' } })).rejects.toMatchObject({
      code: 'not_trainable',
      message: expect.stringContaining('train: false'),
    });
    await backbone.close();
  });

  it('asks for an optimizer if it has to train', async () => {
    await expect(createOnnxBackbone({ modelDir })).rejects.toMatchObject({ code: 'bad_options' });
  });
});

describe('weights that are not numbers', () => {
  it('are a readable error of each call, and loading good ones repairs it', async () => {
    const broken = path.join(modelDir, '..', 'broken');
    await writeModel(broken, (weights) => weights.fill(NaN));
    const backbone = await open({ modelDir: broken });
    await expect(backbone.engine.generate(request)).rejects.toMatchObject({
      name: 'EngineError',
      code: 'failed',
      message: expect.stringMatching(/NaN.*checkpoint/),
    });
    const good = await open();
    const checkpoint = path.join(modelDir, '..', 'good');
    await good.save(checkpoint);
    await backbone.load(checkpoint);
    const { timing: _, ...expected } = await good.engine.generate(request);
    expect(await backbone.engine.generate(request)).toMatchObject(expected);
    await Promise.all([backbone.close(), good.close()]);
  });
});
