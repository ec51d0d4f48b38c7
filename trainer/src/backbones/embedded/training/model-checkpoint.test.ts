import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import type { TrainBatch } from '@agentjet/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readModelFolder, writeModelFolder } from '../../../model-files/model-folder.js';
import { packTrees } from '../../../packing/pack-trees.js';
import { createRandomSamples } from '../../../testing/random-samples.js';
import type { LoraOptions } from '../../lora-options.js';
import { exportModel } from '../../../model-files/export-model.js';
import { readTensorEntries } from '../../../model-files/safetensors.js';
import { WeightFiles } from './frozen/weight-files.js';
import { loadOnnxModel, openOnnxModel, saveOnnxModel, type OpenOnnxModelOptions } from './model-checkpoint.js';
import { initialWeights } from './model/initial-weights.js';
import { parseModelConfig } from './model/model-config.js';
import { parameterLayout } from './model/parameter-layout.js';
import { plainOptimizer, policyLoss, tinyConfigJson } from './testing-model.js';
import { problemOf } from '../../../testing/problem-of.js';

let root: string;
let modelDir: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'checkpoint-'));
  modelDir = path.join(root, 'model');
  await writeRandomModel(modelDir, tinyConfigJson);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function writeRandomModel(dir: string, configJson: { readonly [key: string]: unknown }): Promise<void> {
  const config = parseModelConfig(configJson);
  const layout = parameterLayout(config);
  const weights = initialWeights(config, layout, { seed: 1, standardDeviation: 0.3 });
  const tensors = layout.parameters.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));
  await writeModelFolder(dir, { config: configJson, tensors });
}

/** The learning rate changes with each step, so the test fails if the checkpoint forgets the step. */
const optimizer = {
  ...plainOptimizer,
  learningRate: 0.05,
  schedule: 'cosine' as const,
  warmupSteps: 2,
  totalSteps: 20,
};
const lora = { rank: 2, alpha: 6 };
const open = (adapter?: OpenOnnxModelOptions['adapter']) =>
  openOnnxModel({ modelDir, optimizer, threads: 1, ...(adapter && { adapter }) });

function batchOf(step: number): TrainBatch {
  const samples = createRandomSamples(createRandom(step), { numRows: 12, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  return { packs: packTrees(samples, { maxPackTokens: 48 }).packs, loss: policyLoss };
}

test.each([
  ['all weights', undefined, undefined],
  ['an adapter', { lora, seed: 1 }, { lora, seed: 2 }],
])(
  'a resumed run of %s logs what it would have logged without a stop, the frozen reference included',
  async (_, first, second) => {
    const checkpoint = path.join(root, 'step-3');
    const [whole, resumed] = [await open(first), await open(second)];
    for (let step = 0; step < 3; step++) await whole.trainStep(batchOf(step));
    await saveOnnxModel(whole, { modelDir, dir: checkpoint });
    await loadOnnxModel(resumed, checkpoint);
    expect(resumed.policyVersion).toBe(3);
    for (let step = 3; step < 6; step++)
      expect(await resumed.trainStep(batchOf(step))).toEqual(await whole.trainStep(batchOf(step)));
    expect(resumed.parameters).toEqual(whole.parameters);
    await whole.close();
    await resumed.close();
  },
);

test('an adapter is saved as peft does, and export merges it into its model', async () => {
  await writeFile(path.join(modelDir, 'tokenizer.json'), '{}');
  const model = await open({ lora: { ...lora, targetModules: ['q_proj', 'down_proj'] }, seed: 1 });
  await model.trainStep(batchOf(1));
  const dir = path.join(root, 'saved');
  await saveOnnxModel(model, { modelDir, dir });
  expect((await readdir(dir)).toSorted()).toEqual([
    'adapter_config.json',
    'adapter_model.safetensors',
    'tokenizer.json',
    'trainer_state',
  ]);
  expect(JSON.parse(await readFile(path.join(dir, 'adapter_config.json'), 'utf8'))).toEqual({
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: modelDir,
    r: 2,
    lora_alpha: 6,
    lora_dropout: 0,
    bias: 'none',
    target_modules: ['q_proj', 'down_proj'],
    inference_mode: true,
  });
  const names = (await readTensorEntries(path.join(dir, 'adapter_model.safetensors'))).map(({ name }) => name);
  expect(names[0]).toBe('base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight');
  expect(names).toHaveLength(2 * 2 * 2);
  const merged = path.join(root, 'merged');
  expect(await exportModel(dir, merged)).toMatchObject({ numMerged: 4 });
  const whole = await openOnnxModel({ modelDir: merged, optimizer, threads: 1 });
  const rows = [{ ids: Int32Array.of(1, 5, 2, 8, 3) }];
  const [found, base] = [await whole.logprobs(rows), await (await open()).logprobs(rows)];
  for (const [index, logprob] of (await model.logprobs(rows))[0]?.entries() ?? [])
    expect(found[0]?.[index]).toBeCloseTo(logprob, 5);
  expect(Math.abs((found[0]?.[4] ?? 0) - (base[0]?.[4] ?? 0))).toBeGreaterThan(1e-4);
  await Promise.all([model.close(), whole.close()]);
});

test('training begins with an adapter that another run or PEFT wrote, without its moments and steps', async () => {
  const trained = await open({ lora, seed: 1 });
  await trained.trainStep(batchOf(1));
  const start = path.join(root, 'start');
  await saveOnnxModel(trained, { modelDir, dir: start });
  const begun = await open({ lora: { ...lora, start }, seed: 2 });
  expect(begun.parameters).toEqual(trained.parameters);
  expect(begun.policyVersion).toBe(0);
  await Promise.all([trained.close(), begun.close()]);
  const refusals: readonly (readonly [LoraOptions, string])[] = [
    [{ ...lora, start: modelDir }, 'it has no adapter_config.json'],
    [{ rank: 2, alpha: 2, start }, 'its scale (alpha / rank) is 3, not 1'],
    [{ rank: 3, alpha: 9, start }, 'lora_A.weight" has shape [2, 8], not [3, 8]'],
  ];
  for (const [settings, message] of refusals) {
    const problem = await problemOf(open({ lora: settings, seed: 1 }));
    expect(problem).toContain(message);
    expect(problem).toMatch(
      /bad_model_files: Cannot begin with the adapter lora\.adapter .*set lora\.rank, lora\.alpha/,
    );
  }
});

test('training begins with an adapter that divides by the root of its rank, if lora.alpha gives the same scale', async () => {
  const trained = await open({ lora, seed: 1 });
  const start = path.join(root, 'root-scaled');
  await saveOnnxModel(trained, { modelDir, dir: start });
  const file = path.join(start, 'adapter_config.json');
  const config = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...config, use_rslora: true }));
  const refusal = await problemOf(open({ lora: { ...lora, start }, seed: 2 }));
  const [, alpha = ''] = /lora\.alpha ([\d.]+) is the same/.exec(refusal) ?? [];
  const begun = await open({ lora: { ...lora, alpha: Number(alpha), start }, seed: 2 });
  expect(Number(alpha)).toBeCloseTo(6 * Math.SQRT2, 12);
  expect(begun.parameters).toEqual(trained.parameters);
  await Promise.all([trained.close(), begun.close()]);
});

test('a checkpoint of other lora settings is refused and the model stays usable', async () => {
  const [whole, adapted] = [await open(), await open({ lora, seed: 1 })];
  const dirs = { whole: path.join(root, 'whole'), adapted: path.join(root, 'adapted') };
  await saveOnnxModel(whole, { modelDir, dir: dirs.whole });
  await saveOnnxModel(adapted, { modelDir, dir: dirs.adapted });
  expect(await problemOf(loadOnnxModel(whole, dirs.adapted))).toContain('it has an adapter (LoRA), but all weights');
  expect(await problemOf(loadOnnxModel(adapted, dirs.whole))).toContain('it has no adapter_config.json');
  const cases: readonly (readonly [LoraOptions, string])[] = [
    [{ rank: 3, alpha: 9 }, 'lora_A.weight" has shape [2, 8], not [3, 8]'],
    [{ rank: 2, alpha: 2 }, 'its scale (alpha / rank) is 3, not 1'],
    [{ ...lora, targetModules: ['q_proj'] }, 'it changes 14 matrices, not 2'],
  ];
  for (const [settings, message] of cases) {
    const other = await open({ lora: settings, seed: 1 });
    const before = other.parameters.slice();
    expect(await problemOf(loadOnnxModel(other, dirs.adapted))).toContain(message);
    expect(other.parameters).toEqual(before);
    await other.close();
  }
  await Promise.all([whole.close(), adapted.close()]);
});

test('a saved folder is a model like the one it came from, in single precision', async () => {
  await writeFile(path.join(modelDir, 'tokenizer.json'), '{}');
  const model = await open();
  const dir = path.join(root, 'saved');
  await saveOnnxModel(model, { modelDir, dir });
  const saved = await readModelFolder(dir);
  expect(saved.config).toEqual({ ...tinyConfigJson, torch_dtype: 'float32' });
  expect([...saved.tensors.keys()].toSorted()).toEqual(model.layout.parameters.map(({ name }) => name).toSorted());
  expect(await readFile(path.join(dir, 'tokenizer.json'), 'utf8')).toBe('{}');
  await model.close();
});

test('a folder that is not a checkpoint, or is another model’s, is refused and the model stays usable', async () => {
  const model = await open();
  const before = model.parameters.slice();
  expect(await problemOf(loadOnnxModel(model, modelDir))).toContain('checkpoint: Cannot resume from');
  const otherDir = path.join(root, 'other');
  await writeRandomModel(otherDir, { ...tinyConfigJson, intermediate_size: 24 });
  const other = await openOnnxModel({ modelDir: otherDir, optimizer, threads: 1 });
  await saveOnnxModel(other, { modelDir: otherDir, dir: path.join(root, 'of-other') });
  expect(await problemOf(loadOnnxModel(model, path.join(root, 'of-other')))).toContain(
    'has shape [24, 8], but config.json asks for [12, 8]',
  );
  const damaged = path.join(root, 'damaged');
  await saveOnnxModel(model, { modelDir, dir: damaged });
  await writeFile(path.join(damaged, 'trainer_state', 'state.json'), '{ "step": ');
  expect(await problemOf(loadOnnxModel(model, damaged))).toContain('state.json is damaged');
  await rm(path.join(damaged, 'trainer_state', 'moments.safetensors'));
  await writeFile(path.join(damaged, 'trainer_state', 'state.json'), '{ "step": 1, "policy_version": 1 }');
  expect(await problemOf(loadOnnxModel(model, damaged))).toContain('moments.safetensors');
  expect(model.parameters).toEqual(before);
  await model.trainStep(batchOf(1));
  await model.close();
  await other.close();
});

test('a model that the engine cannot run is refused when it is opened', async () => {
  await writeFile(path.join(modelDir, 'config.json'), JSON.stringify({ ...tinyConfigJson, model_type: 'mamba' }));
  expect(await problemOf(open())).toContain(
    'unsupported_model: This model cannot run in the onnx backbone: "model_type" of config.json is "mamba"',
  );
});

test('a model that does not fit into memory is refused before it is read', async () => {
  await writeFile(
    path.join(modelDir, 'config.json'),
    JSON.stringify({ ...tinyConfigJson, vocab_size: 2 ** 31, hidden_size: 4096 }),
  );
  expect(await problemOf(open())).toMatch(
    /unsupported_model: .* has 8796\d+ parameters and needs 65536\.\d GiB of memory/,
  );
});

test('a model that only answers is in files, or in memory if none can be written, and scores the same', async () => {
  const even = path.join(root, 'even');
  await writeRandomModel(even, { ...tinyConfigJson, hidden_size: 32, intermediate_size: 64, head_dim: 8 });
  const score = async (): Promise<{ readonly isInFiles: boolean; readonly logprobs: readonly Float32Array[] }> => {
    const model = await openOnnxModel({ modelDir: even, optimizer, threads: 1, frozenWeights: 'int8' });
    const logprobs = await model.logprobs([{ ids: Int32Array.of(1, 5, 3, 9, 2) }]);
    await model.close();
    return { isInFiles: model.base?.weights instanceof WeightFiles, logprobs };
  };
  const ofFiles = await score();
  for (const name of ['TMPDIR', 'TEMP']) vi.stubEnv(name, path.join(root, 'missing'));
  try {
    expect([ofFiles.isInFiles, await score()]).toEqual([true, { isInFiles: false, logprobs: ofFiles.logprobs }]);
  } finally {
    vi.unstubAllEnvs();
  }
});
