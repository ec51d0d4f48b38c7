import assert from 'node:assert/strict';
import { createRandom, type Backbone, type LossOptions, type Sample, type TokenSampling, type TrainStepMetrics, type TreePack } from '@agentjet/core';
import { padPack } from '../packing/pad-pack.js';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomSamples } from './random-samples.js';

export type BackboneCaseOptions = {
  /** A new backbone, the same each time; its context holds at least 32 tokens, its vocabulary at least ids 0 to 4. Plain AdamW, learning rate 0.001 to 0.1. */
  readonly create: () => Promise<Backbone>;
  /** Largest difference, relative above 1, of two numbers that ought to be equal. Default 1e-4. */
  readonly tolerance?: number;
};

/** What a training step of every Backbone does, ours and an outside author's: run each case in a test of its own. `run` rejects with an assertion. */
export type BackboneCase = { readonly name: string; readonly run: (options: BackboneCaseOptions) => Promise<void> };

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 6, stopIds: [], seed: 11 };
const promptIds = Int32Array.of(1, 2, 3);
const loss: LossOptions = { kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoef: 0, klEstimator: 'k3', entropyCoef: 0, temperature: 1 };
const samples = createRandomSamples(createRandom(4), { numRows: 10, maxLength: 6, vocabSize: 5, numEpisodes: 3 });
const { packs: tree } = packTrees(samples, { maxPackTokens: 64 });

export const backboneCases: readonly BackboneCase[] = [
  { name: 'samples from the new weights after a step, and counts the version up', run: (options) => withBackbone(options, checkVersion) },
  { name: 'makes more likely what had an advantage', run: (options) => withBackbone(options, checkAdvantage) },
  { name: 'learns what it is shown', run: (options) => withBackbone(options, checkSupervised) },
  { name: 'trains a tree as it trains its rows', run: (options) => checkSameStep(options, packTrees(samples, { maxPackTokens: 64, sharing: 'none' }).packs) },
  { name: 'trains many packs as it trains one', run: (options) => checkSameStep(options, packTrees(samples, { maxPackTokens: 10 }).packs) },
  { name: 'trains padding as nothing', run: (options) => checkSameStep(options, tree.map((pack) => padPack(pack, pack.ids.length + 7))) },
];

async function withBackbone({ create, tolerance = 1e-4 }: BackboneCaseOptions, check: (backbone: Backbone, tolerance: number) => Promise<void>): Promise<void> {
  const backbone = await create();
  try {
    await check(backbone, tolerance);
  } finally {
    await backbone.close();
  }
}

async function checkVersion(backbone: Backbone): Promise<void> {
  const before = await backbone.engine.generate({ promptIds, sampling });
  const metrics = await backbone.trainStep({ packs: tree, loss });
  const after = await backbone.engine.generate({ promptIds, sampling });
  assert.deepEqual([before.policyVersion, metrics.policyVersion, backbone.policyVersion, after.policyVersion], [0, 1, 1, 1]);
  assert.ok(metrics.gradNorm > 0 && Number.isFinite(metrics.loss));
  assert.equal(metrics.trainedTokens, tree.reduce((sum, { terms }) => sum + terms.pair.length, 0));
}

async function checkAdvantage(backbone: Backbone): Promise<void> {
  const { ids, logprobs } = await backbone.engine.generate({ promptIds, sampling });
  const sample = toSample(ids, logprobs);
  await backbone.trainStep({ packs: packTrees([sample], { maxPackTokens: 64 }).packs, loss });
  const [after] = await backbone.logprobs([sample]);
  const [likely, unlikely] = [sum(after?.slice(promptIds.length) ?? []), sum(logprobs)];
  assert.ok(likely > unlikely, `log-probability ${likely} after the step, ${unlikely} before it`);
}

async function checkSupervised(backbone: Backbone): Promise<void> {
  const { packs } = packTrees([toSample(Int32Array.of(4, 0, 4, 0, 4), new Float32Array(5))], { maxPackTokens: 64 });
  const losses: number[] = [];
  for (let step = 0; step < 4; step++) losses.push((await backbone.trainStep({ packs, loss: { kind: 'sft' } })).loss);
  assert.ok((losses.at(-1) ?? Infinity) < (losses[0] ?? 0), `the losses were ${losses.join(', ')}`);
}

/** The packs, and the tree, from the same weights: same loss, gradient norm and next weights. */
async function checkSameStep({ create, tolerance = 1e-4 }: BackboneCaseOptions, packs: readonly TreePack[]): Promise<void> {
  const [expected, found] = [await stepFrom(create, tree), await stepFrom(create, packs)];
  const numbersOf = ({ metrics }: { readonly metrics: TrainStepMetrics }) => [metrics.loss, metrics.gradNorm, metrics.rowTokens, metrics.trainedTokens];
  assertClose(numbersOf(found), numbersOf(expected), tolerance);
  found.logprobs.forEach((row, index) => assertClose(row, expected.logprobs[index] ?? [], 10 * tolerance));
}

async function stepFrom(create: () => Promise<Backbone>, packs: readonly TreePack[]) {
  const backbone = await create();
  try {
    return { metrics: await backbone.trainStep({ packs, loss }), logprobs: await backbone.logprobs(samples) };
  } finally {
    await backbone.close();
  }
}

/** The prompt, and these ids as trained with advantage 1. */
function toSample(generated: Int32Array, logprobs: Float32Array): Sample {
  const behindPrompt = (values: Iterable<number>, before: number) => [...Array.from(promptIds, () => before), ...values];
  const each = (value: number) => Array.from(generated, () => value);
  return {
    episodeId: 'episode',
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.of(...promptIds, ...generated),
    lossMask: Uint8Array.from(behindPrompt(each(1), 0)),
    logprobs: Float32Array.from(behindPrompt(logprobs, 0)),
    policyVersions: Int32Array.from(behindPrompt(each(0), -1)),
    advantages: Float32Array.from(behindPrompt(each(1), 0)),
  };
}

function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (let index = 0; index < actual.length; index++) {
    const [found, wanted] = [actual[index] ?? Number.NaN, expected[index] ?? Number.NaN];
    assert.ok(Math.abs(found - wanted) <= tolerance * Math.max(1, Math.abs(wanted)), `entry ${index} is ${found}, not ${wanted}`);
  }
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}
