/** This file makes the batch for every implementation, and gets the answers of our backbones. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createRandom, type Backbone, type OptimizerOptions, type Sample, type TrainBatch } from '@agentjet/core';
import { createOnnxBackbone, createTorchBackbone, packFor } from '@agentjet/trainer';
import { adamOptions, createRandomSamples, writeRandomModelFolder, tinyConfig } from '@agentjet/trainer/testing';

export const python =
  process.env['AJET_TORCH_PYTHON'] ?? path.resolve(import.meta.dirname, '../../../trainer/torch/.venv/bin/python');
export const verlPython =
  process.env['AJET_VERL_PYTHON'] ?? path.resolve(import.meta.dirname, '../../../trainer/verl/.venv/bin/python');
export const learningRate = 1e-3;

const configJson = tinyConfig({ vocab_size: 97, intermediate_size: 64, max_position_embeddings: 256 });
const numCandidates = 64;
const plain = adamOptions(learningRate);
/**
 * AdamW's first step is rate g / (|g| + epsilon). With an epsilon this large the weights fall by `gradientScale` times
 * their gradient.
 */
const epsilon = 1e8;
export const gradientScale = 1000;
const revealing: OptimizerOptions = { ...plain, learningRate: gradientScale * epsilon, epsilon };

export type Create = (modelDir: string, optimizer: OptimizerOptions) => Promise<Backbone>;

export const backbones = {
  onnx: (modelDir, optimizer) => createOnnxBackbone({ modelDir, optimizer, seed: 1, threads: 1 }),
  torch: (modelDir, optimizer) =>
    createTorchBackbone({
      modelDir,
      optimizer,
      seed: 1,
      device: 'cpu',
      dtype: 'float32',
      python,
      inference: { slots: 2, kvTokens: 64 },
      env: { OMP_NUM_THREADS: '1' },
    }),
} as const satisfies Readonly<Record<string, Create>>;

/** `probes` are logprobs per probe. `losses` are those of ten steps. */
export type Answer = { readonly probes: readonly (readonly number[])[]; readonly losses: readonly number[] };

export type Question = {
  readonly modelDir: string;
  readonly samples: readonly Sample[];
  readonly probes: readonly (readonly number[])[];
  /** The batch as plain rows: ids, and the weight of each token in the loss. */
  readonly rows: readonly { readonly ids: readonly number[]; readonly weights: readonly number[] }[];
};

/** The config.json of a tiny Qwen3. Its heads are wider than hidden_size / heads, and each head is normalized. */
const qwen3 = {
  ...configJson,
  model_type: 'qwen3',
  architectures: ['Qwen3ForCausalLM'],
  head_dim: 16,
  attention_bias: false,
};

/** Writes a random model of a few thousand weights, which is the same on every machine. */
export async function writeTinyModel(dir: string, family: 'qwen2' | 'qwen3' = 'qwen2'): Promise<string> {
  await writeRandomModelFolder(dir, { configJson: family === 'qwen3' ? qwen3 : configJson, seed: 3 });
  return dir;
}

export async function createQuestion(modelDir: string): Promise<Question> {
  const { vocab_size: vocabSize } = JSON.parse(await readFile(path.join(modelDir, 'config.json'), 'utf8')) as {
    readonly vocab_size: number;
  };
  const samples = createRandomSamples(createRandom(5), { numRows: 10, maxLength: 20, vocabSize, numEpisodes: 10 });
  return { modelDir, samples, probes: createProbes(vocabSize), rows: toRows(samples) };
}

/**
 * Asks one backbone. The weights in `gradientDir` afterwards differ from the model's weights by `gradientScale` times
 * the gradient.
 */
export async function ask(
  create: Create,
  { modelDir, samples, probes }: Question,
  gradientDir: string,
): Promise<Answer> {
  const first = await create(modelDir, revealing);
  const { packs } = packFor(first, samples, { maxPackTokens: 512, weighting: 'row', normalization: 'token' });
  const batch: TrainBatch = { packs, loss: { kind: 'sft' } };
  const found = (await first.logprobs(probes.map((ids) => ({ ids: Int32Array.from(ids) })))).map((row) =>
    [...row].slice(1),
  );
  await first.trainStep(batch);
  await first.save(gradientDir);
  await first.close();
  const second = await create(modelDir, plain);
  const losses: number[] = [];
  for (let step = 0; step < 10; step += 1) losses.push((await second.trainStep(batch)).loss);
  await second.close();
  return { probes: found, losses };
}

/** Returns the norm of the gradient of each weight, computed from the weights that `ask` wrote. */
export async function readGradientNorms(
  modelDir: string,
  gradientDir: string,
): Promise<Readonly<Record<string, number>>> {
  const gradient = await readGradient(modelDir, gradientDir);
  return Object.fromEntries([...gradient].map(([name, values]) => [name, Math.hypot(...values)]));
}

/** Returns the gradient of each weight, computed from the weights that `ask` wrote. */
export async function readGradient(modelDir: string, gradientDir: string): Promise<ReadonlyMap<string, Float64Array>> {
  const [before, after] = [await readWeights(modelDir), await readWeights(gradientDir)];
  return new Map(
    [...before].map(([name, data]) => [
      name,
      Float64Array.from(data, (value, index) => (value - (after.get(name)?.[index] ?? Number.NaN)) / gradientScale),
    ]),
  );
}

export const goldenGradient = path.join(import.meta.dirname, 'golden-gradient.safetensors');

/** Returns the gradient of plain transformers on the tiny model. */
export async function readGoldenGradient(): Promise<ReadonlyMap<string, Float64Array>> {
  const gradient = await readTensors(goldenGradient);
  return new Map([...gradient].map(([name, values]) => [name, Float64Array.from(values)]));
}

type Header = Readonly<Record<string, { readonly dtype: string; readonly data_offsets: readonly [number, number] }>>;

/** Reads a safetensors file: the header's length, a JSON header, then the tensors, which are all float32 here. */
export function readWeights(dir: string): Promise<ReadonlyMap<string, Float32Array>> {
  return readTensors(path.join(dir, 'model.safetensors'));
}

async function readTensors(file: string): Promise<ReadonlyMap<string, Float32Array>> {
  const bytes = await readFile(file);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString()) as Header;
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__');
  return new Map(
    entries.map(
      ([
        name,
        {
          data_offsets: [from, end],
        },
      ]) => [name, new Float32Array(new Uint8Array(bytes.subarray(start + from, start + end)).buffer)],
    ),
  );
}

export async function inScratchFolder<Result>(work: (dir: string) => Promise<Result>): Promise<Result> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'ajet-parity-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Returns rows that differ only in their last token. Their answers together are the normalized logits of a row. */
function createProbes(vocabSize: number): readonly (readonly number[])[] {
  const random = createRandom(9);
  const beginnings = [1, 5, 14].map((length) => Array.from({ length }, () => random.int(vocabSize)));
  return beginnings.flatMap((ids) =>
    Array.from({ length: Math.min(numCandidates, vocabSize) }, (_, index) => [
      ...ids,
      Math.floor((index * vocabSize) / numCandidates) % vocabSize,
    ]),
  );
}

/** Gives each weight 1 / trained tokens, as the packer's normalisation by tokens does. */
function toRows(samples: readonly Sample[]): Question['rows'] {
  const trained = samples.reduce((sum, { lossMask }) => sum + lossMask.reduce((total, mask) => total + mask, 0), 0);
  return samples
    .filter(({ ids }) => ids.length > 1)
    .map(({ ids, lossMask }) => ({ ids: [...ids], weights: [...lossMask].map((mask) => mask / trained) }));
}
