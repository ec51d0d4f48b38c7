/**
 * If top-p or top-k cut the distribution, does training use the same cut distribution as sampling? Each backbone
 * samples rows from a tiny model and trains on them. Its gradient, which is computed from the change of the weights, is
 * compared with a gradient in double precision (reference-model.ts).
 */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, configuration } from 'agentjet';
import type { Algorithm, Backbone, LossOptions, Sample } from '@agentjet/core';
import { createModelFolder, packFor, prepareBatch, type BatchSettings } from '@agentjet/trainer';
import { adamOptions, tinyConfig } from '@agentjet/trainer/testing';
import type { BenchOptions } from '../bench.js';
import { backbones, inScratchFolder, python, readWeights, type Create } from '../parity/question.js';
import {
  differenceGradient,
  drawsOf,
  referenceLogprobs,
  truncatedLoss,
  type DrawnFrom,
  type ReferenceConfig,
  type ReferenceLoss,
  type SampledRow,
  type Tensors,
} from './reference-model.js';

const cuts = {
  'top_p 0.5': { topP: 0.5, topK: 0 },
  'top_p 0.9': { topP: 0.9, topK: 0 },
  'top_k 2': { topP: 1, topK: 2 },
} as const;
const plain = { temperature: 1, numPasses: 1, klCoef: 0, entropyCoef: 0 };
const changes = {
  'temperature 0.7': { ...plain, temperature: 0.7 },
  'two passes': { ...plain, numPasses: 2 },
  KL: { ...plain, klCoef: 1 },
  entropy: { ...plain, entropyCoef: 1 },
} as const;

export type Setting = Omit<ReferenceLoss, 'clip'> & { readonly name: string; readonly numPasses: number };

/** All twelve combinations of a cut and a loss. */
export const settings: readonly Setting[] = Object.entries(cuts).flatMap(([cut, limits]) =>
  Object.entries(changes).map(([change, values]) => ({ name: `${cut}, ${change}`, ...limits, ...values })),
);

const config: ReferenceConfig & { readonly [key: string]: unknown } = tinyConfig({
  vocab_size: 24,
  hidden_size: 8,
  intermediate_size: 12,
  num_attention_heads: 2,
  num_key_value_heads: 1,
});

/** With an epsilon this large a step moves the weights by rate / epsilon times their gradient. */
const epsilon = 1e8;
const optimizer = adamOptions(0, { beta1: 0, beta2: 0, epsilon });
/**
 * The scales of the weight change in the earlier steps and in the last step. The earlier steps must leave a model that
 * can still be trained. After the last step, only the gradient is computed from the change, so a large scale makes it
 * more exact.
 */
const [smallScale, readableScale] = [0.02, 1000];
const clip = 0.2;
const prompts = [
  [3, 1, 4],
  [5, 9],
] as const;
const episodesPerPrompt = 3;
const tokensPerEpisode = 6;

/**
 * Returns the largest relative error of the gradients of all optimizer steps of one setting, of one weight in `stride`.
 * With `trainedAs` the backbone is given other settings instead.
 */
export async function gradientError(
  create: Create,
  setting: Setting,
  dir: string,
  { stride = 1, trainedAs = setting }: { readonly stride?: number; readonly trainedAs?: Setting } = {},
): Promise<number> {
  const modelDir = path.join(dir, 'model');
  await createModelFolder(modelDir, { config, seed: 3, standardDeviation: 0.4 });
  const backbone = await create(modelDir, optimizer);
  try {
    await leaveReference(backbone);
    return await compare(backbone, setting, { dir, stride, trainedAs });
  } finally {
    await backbone.close();
  }
}

/** Makes a step, so that the weights differ from the reference weights of the KL term. */
async function leaveReference(backbone: Backbone): Promise<void> {
  const lesson = toSample({ ids: [3, 1, 4, 9, 5, 17, 2], promptLength: 1, advantage: 1 }, { logprobs: [], index: 0 });
  const { packs } = packFor(backbone, [lesson], { maxPackTokens: 64 });
  await backbone.trainStep({ packs, loss: { kind: 'sft' }, optimizer: { learningRate: 0.3 * epsilon } });
}

type Comparison = { readonly dir: string; readonly stride: number; readonly trainedAs: Setting };

async function compare(backbone: Backbone, setting: Setting, { dir, stride, trainedAs }: Comparison): Promise<number> {
  const saved = async (name: string): Promise<Tensors> => {
    await backbone.save(path.join(dir, name));
    return toDoubles(await readWeights(path.join(dir, name)));
  };
  const initial = toDoubles(await readWeights(path.join(dir, 'model')));
  let before = await saved('sampled');
  const { rows, samples } = await sampleRows(backbone, setting);
  const draws = drawsOf(before, config, rows, setting);
  requireSameDraws(samples, rows, draws);
  const loss = { ...setting, clip };
  const ofReference = referenceLogprobs(initial, config, { rows, draws, loss });
  const batch = prepareBatch([toGroup(samples)], toBatchSettings(trainedAs), { backbone, algorithm: given });
  const errors: number[] = [];
  for (let pass = 0; pass < setting.numPasses; pass++) {
    const scale = pass === setting.numPasses - 1 ? readableScale : smallScale;
    await batch.optimize(pass, { optimizer: { learningRate: scale * epsilon } });
    const after = await saved(`pass-${pass}`);
    const question = { rows, draws, ofReference, loss };
    const expected = differenceGradient(before, (moved) => truncatedLoss(moved, config, question), stride);
    errors.push(relativeError(before, after, { scale, expected }));
    before = after;
  }
  return Math.max(...errors);
}

async function sampleRows(
  { engine }: Backbone,
  { temperature, topP, topK }: Setting,
): Promise<{ readonly rows: readonly SampledRow[]; readonly samples: readonly Sample[] }> {
  const sampled = prompts.flatMap((prompt, at) =>
    Array.from({ length: episodesPerPrompt }, async (_, index) => {
      const seed = 100 * at + index;
      const sampling = { temperature, topP, topK, maxTokens: tokensPerEpisode, stopIds: [], seed };
      const { ids, logprobs } = await engine.generate({ promptIds: Int32Array.from(prompt), sampling });
      const row = { ids: [...prompt, ...ids], promptLength: prompt.length, advantage: 5 * (index - 1) + at + 1 };
      return { row, sample: toSample(row, { logprobs, index: seed }) };
    }),
  );
  const found = await Promise.all(sampled);
  return { rows: found.map(({ row }) => row), samples: found.map(({ sample }) => sample) };
}

function toSample(
  { ids, promptLength, advantage }: SampledRow,
  { logprobs, index }: { readonly logprobs: ArrayLike<number>; readonly index: number },
): Sample {
  const isSampled = (at: number): boolean => at >= promptLength;
  return {
    episodeId: `episode ${index}`,
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(ids, (_, at) => (isSampled(at) ? 1 : 0)),
    logprobs: Float32Array.from(ids, (_, at) => (isSampled(at) ? (logprobs[at - promptLength] ?? 0) : 0)),
    policyVersions: Int32Array.from(ids, (_, at) => (isSampled(at) ? 1 : -1)),
    advantages: Float32Array.from(ids, (_, at) => (isSampled(at) ? advantage : 0)),
  };
}

/** An algorithm that takes the advantages from the samples. */
const given: Algorithm = { name: 'given', credit: ({ episodes }) => episodes.flatMap(({ samples }) => samples) };

function toGroup(samples: readonly Sample[]) {
  const episodes = samples.map((sample, reward) => ({ episodeId: sample.episodeId, reward, samples: [sample] }));
  return { groupId: 'group', episodes };
}

function toBatchSettings({ temperature, topP, topK, klCoef, entropyCoef, numPasses }: Setting): BatchSettings {
  const isCut = topP < 1 || topK > 0;
  const coefficients = { klCoef, klEstimator: 'k3', entropyCoef } as const;
  const clips = { clipLow: clip, clipHigh: clip, dualClip: 0 };
  const loss: LossOptions = {
    kind: 'policy',
    ...clips,
    ...coefficients,
    temperature,
    ...(isCut && { truncation: { topP, topK } }),
  };
  return {
    whitenAdvantages: false,
    loss,
    packing: { maxPackTokens: 64, normalization: 'token' },
    lengthLimit: { maxSampleTokens: Infinity, policy: 'error' },
    numMiniBatches: 1,
    numEpochs: numPasses,
  };
}

/** Throws unless the sampler's logprobs are those of the reference, which shows that both kept the same tokens. */
function requireSameDraws(
  samples: readonly Sample[],
  rows: readonly SampledRow[],
  draws: readonly (readonly DrawnFrom[])[],
): void {
  for (const [row, { promptLength }] of rows.entries()) {
    for (const [index, { logprob }] of (draws[row] ?? []).entries()) {
      const sampled = samples[row]?.logprobs[promptLength + index] ?? NaN;
      if (!(Math.abs(sampled - logprob) < 1e-4))
        throw new Error(`Token ${index} of row ${row} was sampled at ${sampled}; the reference has ${logprob}.`);
    }
  }
}

function relativeError(
  before: Tensors,
  after: Tensors,
  { scale, expected }: { readonly scale: number; readonly expected: Tensors },
): number {
  let [distance, size] = [0, 0];
  for (const [name, slopes] of expected) {
    for (const [index, slope] of slopes.entries()) {
      if (Number.isNaN(slope)) continue;
      const found = ((before.get(name)?.[index] ?? NaN) - (after.get(name)?.[index] ?? NaN)) / scale;
      distance += (found - slope) ** 2;
      size += slope ** 2;
    }
  }
  return Math.sqrt(distance / size);
}

function toDoubles(weights: ReadonlyMap<string, Float32Array>): Tensors {
  return new Map([...weights].map(([name, values]) => [name, Float64Array.from(values)]));
}

const asked = ['onnx', 'torch', 'tinker', 'verl'] as const;

/** Returns whether the configuration with this setting is refused. */
function isRefused(
  backbone: (typeof asked)[number],
  { temperature, topP, topK, numPasses, klCoef, entropyCoef }: Setting,
): boolean {
  try {
    configuration.create({
      backbone,
      rollout: { temperature, topP, topK: topK > 0 ? topK : -1 },
      trainerCommon: { ppoEpochs: numPasses, useKlLoss: klCoef > 0, entropyCoeff: entropyCoef },
    });
    return false;
  } catch (error) {
    if (error instanceof ConfigError && /rollout\.top_[pk]/.test(error.message)) return true;
    throw error;
  }
}

export type Gradients = Readonly<Record<string, number | 'refused'>>;

export async function measureGradients({ report }: Pick<BenchOptions, 'report'>): Promise<Gradients> {
  const found: Record<string, number | 'refused'> = {};
  for (const name of asked) {
    for (const setting of settings) {
      const key = `${name} ${setting.name}`;
      const value = isRefused(name, setting) ? 'refused' : await measured(name, setting, key);
      if (value === undefined) continue;
      report(`${key}: ${value}`);
      found[key] = value;
    }
  }
  return found;
}

async function measured(name: string, setting: Setting, key: string): Promise<number | 'refused' | undefined> {
  if (name !== 'onnx' && name !== 'torch')
    throw new Error(`${name} takes ${key}, and nothing here can measure its gradient.`);
  if (name === 'torch' && !existsSync(python)) return keptFigure(key);
  return await inScratchFolder((dir) => gradientError(backbones[name], setting, dir));
}

const keptFile = path.join(import.meta.dirname, '../results/right.json');

/** Returns the last kept result, which is used if PyTorch is not installed. */
function keptFigure(key: string): number | 'refused' | undefined {
  if (!existsSync(keptFile)) return undefined;
  const kept = JSON.parse(readFileSync(keptFile, 'utf8')) as { readonly gradients?: Gradients };
  return kept.gradients?.[key];
}
