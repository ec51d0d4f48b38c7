import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Backbone } from '@agentjet/core';
import { readModelFolder, readTensor } from '../../model-files/model-folder.js';
import { readModelConfig } from '../../model-files/read-model-config.js';
import { writeSafetensors } from '../../model-files/safetensors.js';
import { writeRandomModelFolder } from '../../testing/random-model-folder.js';
import { createTinyTaskBackbone } from '../../testing/tiny-task.js';
import type { TinkerBackboneOptions } from './create-tinker-backbone.js';
import { lesson, row } from './testing/lesson.js';
import { openClient, writeModelConfig } from './testing/open-client.js';
import { TinkerServer, type TinkerServerOptions } from './testing/tinker-server.js';
import { tinyConfig } from '../../testing/tiny-config.js';

let server: TinkerServer;
let modelDir: string;
let dir: string;
const opened: Backbone[] = [];

beforeEach(async () => {
  server = await serve();
  modelDir = await writeModelConfig(5);
  dir = await mkdtemp(path.join(tmpdir(), 'agentjet-tinker-home-'));
});
afterEach(async () => {
  for (const backbone of opened.splice(0)) await backbone.close();
  await server.close();
  for (const folder of [modelDir, dir]) await rm(folder, { recursive: true });
});

const serve = (options: Partial<TinkerServerOptions> = {}): Promise<TinkerServer> =>
  TinkerServer.start({ open: async () => createTinyTaskBackbone(1), apiKey: 'tml-secret', ...options });

/** Starts a server that serves these files instead of the saved ones. */
async function startWith(archive: ReadonlyMap<string, Buffer>): Promise<void> {
  await server.close();
  server = await serve({ archive });
}

async function open(options: Partial<TinkerBackboneOptions> = {}): Promise<Backbone> {
  const backbone = await openClient(server, modelDir, { apiKey: 'tml-secret', ...options });
  opened.push(backbone);
  return backbone;
}

test('a checkpoint brings home what the server hands out and says where the rest is, never the key', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  await backbone.save(path.join(dir, 'checkpoint'));
  expect(await readdir(path.join(dir, 'checkpoint'))).toEqual(['config.json', 'trainer_state']);
  const state = await readFile(path.join(dir, 'checkpoint', 'trainer_state', 'tinker.json'), 'utf8');
  expect(JSON.parse(state)).toEqual({
    path: expect.stringMatching(/^tinker:/),
    policyVersion: 1,
    baseDir: modelDir,
  });
  expect(state).not.toContain('tml-secret');
});

test('a run whose model is a checkpoint begins with its weights on the server, without its optimizer', async () => {
  const first = await open();
  const rows = [{ ids: row }];
  await first.trainStep(lesson());
  const checkpoint = path.join(dir, 'checkpoint');
  await first.save(checkpoint);
  const next = await open({ modelDir: checkpoint });
  expect(next.policyVersion).toBe(0);
  expect(await next.logprobs(rows)).toEqual(await first.logprobs(rows));
  expect(server.loads.at(-1)).toEqual({ path: expect.stringMatching(/^tinker:/), optimizer: false });
  await next.save(path.join(dir, 'second'));
  const state = await readFile(path.join(dir, 'second', 'trainer_state', 'tinker.json'), 'utf8');
  expect(JSON.parse(state)).toMatchObject({ policyVersion: 0, baseDir: modelDir });
});

test('the KL estimate of such a run is against the weights that it began with', async () => {
  const first = await open();
  await first.trainStep(lesson());
  await first.save(path.join(dir, 'checkpoint'));
  const next = await open({ modelDir: path.join(dir, 'checkpoint') });
  const clip = { clipLow: 0.2, clipHigh: 0.2, dualClip: 0 };
  const kl = { kind: 'policy', ...clip, klCoef: 1, klEstimator: 'k3', entropyCoef: 0, temperature: 1 } as const;
  expect((await next.trainStep(lesson(kl))).kl).toBeCloseTo(0, 6);
  expect((await next.trainStep(lesson(kl))).kl).toBeGreaterThan(0);
});

test('a server that does not have the weights of a checkpoint is refused, and so is a checkpoint of another backbone', async () => {
  const first = await open();
  await first.save(path.join(dir, 'checkpoint'));
  await startWith(new Map());
  await expect(open({ modelDir: path.join(dir, 'checkpoint') })).rejects.toMatchObject({
    code: 'bad_model_files',
    message: expect.stringMatching(/weights are at tinker:.* on the server that trained it.*Set tinker\.base_url/),
  });
  await rm(path.join(dir, 'checkpoint', 'trainer_state', 'tinker.json'));
  await expect(open({ modelDir: path.join(dir, 'checkpoint') })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/checkpoint of another backbone.*tinker\.base_model/),
  });
});

test('an error names the server that has lost a saved state, and how to continue from the downloaded weights', async () => {
  const archive = await adapterFiles(dir);
  await startWith(archive);
  const checkpoint = path.join(dir, 'checkpoint');
  await (await open()).save(checkpoint);
  await startWith(archive);
  const backbone = await open();
  const wayOn = `ajet export ${checkpoint} <folder>`;
  await expect(backbone.load(checkpoint)).rejects.toMatchObject({
    code: 'bad_model_files',
    message: expect.stringMatching(/does not load the state at tinker:.*Set tinker\.base_url.*model\.path/),
  });
  await expect(backbone.load(checkpoint)).rejects.toThrow(wayOn);
  await rm(path.join(checkpoint, 'adapter_model.safetensors'));
  await expect(backbone.load(checkpoint)).rejects.toThrow('none of its weights were downloaded');
});

test('weights that a server keeps stay there, with a notice', async () => {
  const notices: string[] = [];
  const backbone = await open({ notice: (message) => notices.push(message) });
  server.faults.keepsWeights = true;
  await backbone.save(path.join(dir, 'checkpoint'));
  expect(notices.at(-1)).toContain('the weights stay on the server');
});

test.each(['adapter', 'merged'] as const)('weights are asked for again after an outage: %s', async (checkpoint) => {
  const base = path.join(dir, 'base');
  await writeRandomModelFolder(base, { configJson, seed: 3 });
  await startWith(await adapterFiles(dir));
  const notices: string[] = [];
  const backbone = await open({ modelDir: base, checkpoint, notice: (message) => notices.push(message) });
  server.faults.archivesLater = { times: 3 };
  await backbone.save(path.join(dir, 'checkpoint'));
  const weights = checkpoint === 'merged' ? 'model.safetensors' : 'adapter_model.safetensors';
  expect(await readdir(path.join(dir, 'checkpoint'))).toContain(weights);
  expect(notices.filter((message) => message.includes('stay on the server'))).toEqual([]);
});

test('a server that stays out of reach leaves no checkpoint without its weights', async () => {
  const backbone = await open({ patienceMs: 1000 });
  server.faults.archivesLater = { times: 1000 };
  await expect(backbone.save(path.join(dir, 'checkpoint'))).rejects.toMatchObject({ code: 'unreachable' });
  expect(await readdir(dir)).toEqual([]);
});

test('a merged checkpoint of a server that keeps its weights is refused with what to set', async () => {
  const backbone = await open({ checkpoint: 'merged' });
  server.faults.keepsWeights = true;
  await expect(backbone.save(path.join(dir, 'checkpoint'))).rejects.toMatchObject({
    code: 'checkpoint',
    message: expect.stringMatching(/stay on the server, at tinker:.*Set tinker\.checkpoint to adapter/),
  });
});

test('a model that is lost before its weights come home is brought back first', async () => {
  const backbone = await open();
  await backbone.trainStep(lesson());
  server.loseSessions();
  await backbone.save(path.join(dir, 'checkpoint'));
  expect(await readdir(path.join(dir, 'checkpoint'))).toContain('trainer_state');
  expect(server.requests.filter((route) => route === 'load_weights')).toHaveLength(1);
});

const adapterConfig = { peft_type: 'LORA', r: 1, lora_alpha: 2, base_model_name_or_path: 'theirs' };

/** Makes an adapter of rank 1 that adds 2 to the first weight of the head. */
async function adapterFiles(dir: string): Promise<ReadonlyMap<string, Buffer>> {
  const [name, width] = ['base_model.model.model.layers.0.self_attn.o_proj', 8];
  await writeSafetensors(path.join(dir, 'adapter_model.safetensors'), [
    {
      name: `${name}.lora_A.weight`,
      shape: [1, width],
      data: Float32Array.from({ length: width }, (_, at) => +(at === 0)),
    },
    {
      name: `${name}.lora_B.weight`,
      shape: [width, 1],
      data: Float32Array.from({ length: width }, (_, at) => +(at === 0)),
    },
  ]);
  const weights = await readFile(path.join(dir, 'adapter_model.safetensors'));
  return new Map([
    ['adapter_config.json', Buffer.from(JSON.stringify(adapterConfig))],
    ['adapter_model.safetensors', weights],
  ]);
}

test('a merged checkpoint is a whole model folder: the weights of model.path with the adapter folded in', async () => {
  const base = path.join(dir, 'base');
  await writeRandomModelFolder(base, { configJson, seed: 3 });
  await startWith(await adapterFiles(dir));
  const backbone = await open({ modelDir: base, checkpoint: 'merged' });
  await backbone.save(path.join(dir, 'checkpoint'));
  expect((await readdir(path.join(dir, 'checkpoint'))).sort()).toEqual([
    'config.json',
    'model.safetensors',
    'trainer_state',
  ]);
  const [before, after] = [await firstWeights(base), await firstWeights(path.join(dir, 'checkpoint'))];
  expect(after[0]).toBeCloseTo((before[0] ?? 0) + 2, 5);
  expect(after.slice(1)).toEqual(before.slice(1));
});

test('a run continues from a downloaded adapter, whose folder has no config', async () => {
  await startWith(await adapterFiles(dir));
  const checkpoint = path.join(dir, 'checkpoint');
  await (await open()).save(checkpoint);
  expect(await readModelConfig(checkpoint)).toEqual(await readModelConfig(modelDir));
  expect((await open({ modelDir: checkpoint })).engine.contextLength).toBe((await open()).engine.contextLength);
});

test('an adapter at home names the local model and the modules that it changes', async () => {
  await startWith(await adapterFiles(dir));
  const backbone = await open();
  await backbone.save(path.join(dir, 'checkpoint'));
  expect((await readdir(path.join(dir, 'checkpoint'))).sort()).toEqual([
    'adapter_config.json', // and no config.json: transformers would take the folder for a whole model
    'adapter_model.safetensors',
    'trainer_state',
  ]);
  const config = await readFile(path.join(dir, 'checkpoint', 'adapter_config.json'), 'utf8');
  expect(JSON.parse(config)).toEqual({
    ...adapterConfig,
    base_model_name_or_path: modelDir,
    target_modules: ['o_proj'],
  });
});

const configJson = tinyConfig({
  vocab_size: 5,
  hidden_size: 8,
  intermediate_size: 16,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
});

async function firstWeights(dir: string): Promise<readonly number[]> {
  const tensor = { name: 'model.layers.0.self_attn.o_proj.weight', shape: [8, 8], data: new Float32Array(64) };
  await readTensor(await readModelFolder(dir), tensor);
  return [...tensor.data];
}

test('a key of the environment is sent, and neither printed nor stored', async () => {
  vi.stubEnv('TINKER_API_KEY', 'tml-secret');
  const notices: string[] = [];
  const backbone = await open({ apiKey: null, notice: (message) => notices.push(message) });
  vi.unstubAllEnvs();
  await backbone.trainStep(lesson());
  await backbone.save(path.join(dir, 'checkpoint'));
  const files = await readdir(dir, { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => readFile(path.join(file.parentPath, file.name), 'utf8'));
  expect(contents).not.toHaveLength(0);
  for (const text of [...notices, ...(await Promise.all(contents))]) expect(text).not.toContain('tml-secret');
});
