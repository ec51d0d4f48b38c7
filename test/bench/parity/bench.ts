/** Do the embedded engine, the GPU worker and plain transformers compute the same: logits, gradients, ten steps? */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createRandom, type Backbone, type OptimizerOptions, type Sample, type TrainBatch } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { createOnnxBackbone, createTorchBackbone, packTrees } from '@agentjet/trainer';
import { createRandomSamples, writeRandomModelFolder } from '@agentjet/trainer/testing';
import type { BenchOptions, BenchResult } from '../bench.js';

const workerDir = path.resolve(import.meta.dirname, '../../../trainer/torch');
const python = process.env['AJET_TORCH_PYTHON'] ?? path.join(workerDir, '.venv/bin/python');
const configJson = {
  model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'], vocab_size: 97, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2,
  num_attention_heads: 4, num_key_value_heads: 2, max_position_embeddings: 256, rms_norm_eps: 1e-6, rope_theta: 10_000, tie_word_embeddings: true, hidden_act: 'silu',
};
const numCandidates = 64;
const learningRate = 1e-3;
const plain: OptimizerOptions = { learningRate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 0, schedule: 'constant', warmupSteps: 0, totalSteps: 0 };
/** AdamW's first step is rate g / (|g| + epsilon): with both this large the weights fall by their gradient. */
const revealing: OptimizerOptions = { ...plain, learningRate: 1e4, epsilon: 1e4 };

type Create = (modelDir: string, optimizer: OptimizerOptions) => Promise<Backbone>;

const backbones: Readonly<Record<string, Create>> = {
  onnx: (modelDir, optimizer) => createOnnxBackbone({ modelDir, optimizer, seed: 1, threads: 1 }),
  torch: (modelDir, optimizer) => createTorchBackbone({ modelDir, optimizer, seed: 1, device: 'cpu', dtype: 'float32', python, inference: { slots: 2, kvTokens: 64 }, env: { OMP_NUM_THREADS: '1' } }),
};

type Answer = { readonly probes: readonly (readonly number[])[]; readonly losses: readonly number[] };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  if (!existsSync(python)) throw new Error(`There is no Python with PyTorch at ${python}. Run "npm run setup:torch" first.`);
  const dir = await mkdtemp(path.join(os.tmpdir(), 'ajet-parity-'));
  try {
    return await compare(dir, await chooseModel(dir, args.includes('--tiny')), report);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function chooseModel(dir: string, isTiny: boolean): Promise<string> {
  if (!isTiny && existsSync(path.join(nanoModelDir, 'config.json'))) return nanoModelDir;
  await writeRandomModelFolder(path.join(dir, 'tiny'), { configJson, seed: 3 });
  return path.join(dir, 'tiny');
}

async function compare(dir: string, modelDir: string, report: (line: string) => void): Promise<BenchResult> {
  const { vocab_size: vocabSize } = JSON.parse(await readFile(path.join(modelDir, 'config.json'), 'utf8')) as { readonly vocab_size: number };
  const samples = createRandomSamples(createRandom(5), { numRows: 10, maxLength: 20, vocabSize, numEpisodes: 10 });
  const batch: TrainBatch = { packs: packTrees(samples, { maxPackTokens: 512, weighting: 'row', normalization: 'token' }).packs, loss: { kind: 'sft' } };
  const probes = createProbes(vocabSize);
  const answers: Record<string, Answer> = {};
  for (const [name, create] of Object.entries(backbones)) {
    report(`${name}: logits, gradient, ten steps`);
    answers[name] = await ask(create, modelDir, { batch, probes, gradientDir: path.join(dir, name) });
  }
  report('transformers: the same');
  const question = { model_dir: modelDir, probes, rows: toRows(samples), learning_rate: learningRate, backbones: Object.keys(backbones) };
  await writeFile(path.join(dir, 'question.json'), JSON.stringify(question));
  const told = execFileSync(python, [path.join(workerDir, 'bench/parity.py'), dir], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, HF_HUB_OFFLINE: '1' } });
  const oracle = JSON.parse(told) as Answer & { readonly gradients: Readonly<Record<string, number>> };
  return summarize(modelDir, answers, oracle);
}

async function ask(create: Create, modelDir: string, work: { readonly batch: TrainBatch; readonly probes: readonly (readonly number[])[]; readonly gradientDir: string }): Promise<Answer> {
  const first = await create(modelDir, revealing);
  const probes = (await first.logprobs(work.probes.map((ids) => ({ ids: Int32Array.from(ids) })))).map((row) => [...row].slice(1));
  await first.trainStep(work.batch);
  await first.save(work.gradientDir);
  await first.close();
  const second = await create(modelDir, plain);
  const losses: number[] = [];
  for (let step = 0; step < 10; step += 1) losses.push((await second.trainStep(work.batch)).loss);
  await second.close();
  return { probes, losses };
}

/** The same beginnings with many last tokens: together the normalised logits of a row. */
function createProbes(vocabSize: number): readonly (readonly number[])[] {
  const random = createRandom(9);
  const beginnings = [1, 5, 14].map((length) => Array.from({ length }, () => random.int(vocabSize)));
  return beginnings.flatMap((ids) => Array.from({ length: Math.min(numCandidates, vocabSize) }, (_, index) => [...ids, Math.floor((index * vocabSize) / numCandidates) % vocabSize]));
}

/** Weight 1 / trained tokens for each, as the packer's normalisation by tokens gives. */
function toRows(samples: readonly Sample[]): readonly { readonly ids: readonly number[]; readonly weights: readonly number[] }[] {
  const trained = samples.reduce((sum, { lossMask }) => sum + lossMask.reduce((total, mask) => total + mask, 0), 0);
  return samples.filter(({ ids }) => ids.length > 1).map(({ ids, lossMask }) => ({ ids: [...ids], weights: [...lossMask].map((mask) => mask / trained) }));
}

function summarize(modelDir: string, answers: Readonly<Record<string, Answer>>, oracle: Answer & { readonly gradients: Readonly<Record<string, number>> }): BenchResult {
  const each = Object.entries(answers);
  const logits = each.map(([name, { probes }]) => [name, largest(probes.flat().map((value, index) => Math.abs(value - (oracle.probes.flat()[index] ?? Number.NaN))))] as const);
  const losses = each.map(([name, answer]) => [name, largest(answer.losses.map((loss, step) => Math.abs(loss / (oracle.losses[step] ?? Number.NaN) - 1)))] as const);
  const summary = { logits_max_abs: largest(logits.map(([, value]) => value)), gradient_relative: largest(Object.values(oracle.gradients)), loss_relative_10_steps: largest(losses.map(([, value]) => value)) };
  const details = { model: path.basename(path.dirname(modelDir)) === 'nano' ? 'nano' : 'tiny random Qwen2', logits: Object.fromEntries(logits), gradients: oracle.gradients, losses: Object.fromEntries(losses), transformers_losses: oracle.losses };
  return { summary, details };
}

/** NaN wherever one is. */
function largest(values: readonly number[]): number {
  return values.reduce((found, value) => (Number.isNaN(value) || value > found ? value : found), 0);
}
