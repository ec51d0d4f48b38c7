import assert from 'node:assert/strict';
import {
  createRandom,
  type Backbone,
  type LossOptions,
  type Sample,
  type TokenSampling,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';
import { padPack } from '../packing/pad-pack.js';
import { packTrees } from '../packing/pack-trees.js';
import { withOpened, type ContractCase } from './contract-case.js';
import { assertClose } from './engine-cases.js';
import { createRandomSamples } from './random-samples.js';

export type BackboneCaseOptions = {
  /** Largest difference, relative above 1, of two numbers that ought to be equal. Default 1e-4. */
  readonly tolerance?: number;
};

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 6, stopIds: [], seed: 11 };
const promptIds = Int32Array.of(1, 2, 3);
const loss: LossOptions = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoef: 0,
  klEstimator: 'k3',
  entropyCoef: 0,
  temperature: 1,
};
const samples = createRandomSamples(createRandom(4), { numRows: 10, maxLength: 6, vocabSize: 5, numEpisodes: 3 });
const { packs: tree } = packTrees(samples, { maxPackTokens: 64 });

/**
 * What a training step of every Backbone does, ours and an outside author's: `for (const { name, run } of backboneCases(open)) it(name, run)`.
 * `open` gives a new backbone, the same each time; its context holds at least 32 tokens, its vocabulary at least ids 0 to 4; plain AdamW,
 * learning rate 0.001 to 0.1.
 */
export function backboneCases(
  open: () => Promise<Backbone>,
  { tolerance = 1e-4 }: BackboneCaseOptions = {},
): readonly ContractCase[] {
  const named = (name: string, check: (backbone: Backbone) => Promise<void>): ContractCase => ({
    name,
    run: () => withOpened(open, check),
  });
  const trainsAlike = (name: string, packs: readonly TreePack[]): ContractCase => ({
    name,
    run: () => checkSameStep(open, packs, tolerance),
  });
  return [
    named('samples from the new weights after a step, and counts the version up', checkVersion),
    named('makes more likely what had an advantage', checkAdvantage),
    named('learns what it is shown', checkSupervised),
    trainsAlike(
      'trains a tree as it trains its rows',
      packTrees(samples, { maxPackTokens: 64, sharing: 'none' }).packs,
    ),
    trainsAlike('trains many packs as it trains one', packTrees(samples, { maxPackTokens: 10 }).packs),
    trainsAlike(
      'trains padding as nothing',
      tree.map((pack) => padPack(pack, pack.ids.length + 7)),
    ),
  ];
}

async function checkVersion(backbone: Backbone): Promise<void> {
  const before = await backbone.engine.generate({ promptIds, sampling });
  const metrics = await backbone.trainStep({ packs: tree, loss });
  const after = await backbone.engine.generate({ promptIds, sampling });
  assert.deepEqual(
    [before.policyVersion, metrics.policyVersion, backbone.policyVersion, after.policyVersion],
    [0, 1, 1, 1],
  );
  assert.ok(metrics.gradNorm > 0 && Number.isFinite(metrics.loss));
  assert.equal(
    metrics.trainedTokens,
    tree.reduce((sum, { terms }) => sum + terms.pair.length, 0),
  );
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
async function checkSameStep(
  open: () => Promise<Backbone>,
  packs: readonly TreePack[],
  tolerance: number,
): Promise<void> {
  const [expected, found] = [await stepFrom(open, tree), await stepFrom(open, packs)];
  const numbersOf = ({ metrics }: { readonly metrics: TrainStepMetrics }) => [
    metrics.loss,
    metrics.gradNorm,
    metrics.rowTokens,
    metrics.trainedTokens,
  ];
  assertAllClose(numbersOf(found), numbersOf(expected), tolerance);
  found.logprobs.forEach((row, index) => assertAllClose(row, expected.logprobs[index] ?? [], 10 * tolerance));
}

async function stepFrom(open: () => Promise<Backbone>, packs: readonly TreePack[]) {
  const backbone = await open();
  try {
    return { metrics: await backbone.trainStep({ packs, loss }), logprobs: await backbone.logprobs(samples) };
  } finally {
    await backbone.close();
  }
}

/** The prompt, and these ids as trained with advantage 1. */
function toSample(generated: Int32Array, logprobs: Float32Array): Sample {
  const behindPrompt = (values: Iterable<number>, before: number) => [
    ...Array.from(promptIds, () => before),
    ...values,
  ];
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

function assertAllClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (let index = 0; index < expected.length; index++)
    assertClose(actual[index], expected[index], tolerance * Math.max(1, Math.abs(expected[index] ?? 1)));
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}
