import assert from 'node:assert/strict';
import {
  BackboneError,
  createRandom,
  type Backbone,
  type Sample,
  type Teacher,
  type SlopeLoss,
  type SlopeTerms,
  type TermReport,
  type TokenSampling,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';
import { askTeacher } from '../loop/ask-teacher.js';
import { packFor } from '../packing/pack-for.js';
import { padPack } from './pad-pack.js';
import { packTrees } from '../packing/pack-trees.js';
import { withOpened, type ContractCase } from './contract-case.js';
import { assertClose, assertRejects } from './engine-cases.js';
import { createRandomSamples } from './random-samples.js';
import { termLoss } from '../slope/term-loss.js';
import { plainLoss } from './plain-loss.js';

export type BackboneCaseOptions = {
  /**
   * The maximum difference of two numbers that should be equal. It is relative for numbers above 1. Defaults to 1e-4.
   */
  readonly tolerance?: number;
};

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 6, stopIds: [], seed: 11 };
const promptIds = Int32Array.of(1, 2, 3);
const samples = createRandomSamples(createRandom(4), { numRows: 10, maxLength: 6, vocabSize: 5, numEpisodes: 3 });

type Layout = (backbone: Backbone) => readonly TreePack[];

const inTrees: Layout = (backbone) => packFor(backbone, samples, { maxPackTokens: 64 }).packs;
/** Trains each row separately, even if it shares tokens with others. */
const rowByRow: Layout = () => packTrees(samples, { maxPackTokens: 1, sharing: 'none' }).packs;

/**
 * These cases hold for a training step of every Backbone, ours and yours: `for (const { name, run } of
 * backboneCases(open)) it(name, run)`. `open` returns a new backbone with the same weights each time. Its context holds
 * at least 32 tokens, its vocabulary has at least ids 0 to 4, and it trains with plain AdamW at a learning rate of
 * 0.001 to 0.1. The cases skip what a backbone's capabilities exclude.
 */
export function backboneCases(
  open: () => Promise<Backbone>,
  { tolerance = 1e-4 }: BackboneCaseOptions = {},
): readonly ContractCase[] {
  const named = (name: string, check: (backbone: Backbone) => Promise<void>): ContractCase => ({
    name,
    run: () => withOpened(open, check),
  });
  const trainsAlike = (name: string, layout: Layout): ContractCase => ({
    name,
    run: () => checkSameStep(open, layout, tolerance),
  });
  return [
    named('samples from the new weights after a step, and counts the version up', checkVersion),
    named('makes more likely what had an advantage', checkAdvantage),
    named('learns what it is shown', checkSupervised),
    trainsAlike('trains a tree, or the packs it takes instead, as it trains row by row', rowByRow),
    trainsAlike(
      'trains many packs as it trains one',
      (backbone) => packFor(backbone, samples, { maxPackTokens: 10 }).packs,
    ),
    trainsAlike('trains padding as nothing', (backbone) =>
      backbone.capabilities.takes === 'rows'
        ? inTrees(backbone) // these rows are never padded
        : inTrees(backbone).map((pack) => padPack(pack, pack.ids.length + 7)),
    ),
    named('takes other optimizer options for one step alone', (backbone) => checkOverrides(backbone, tolerance)),
    named('reports every term of a step that asks for it', (backbone) => checkTerms(backbone, tolerance)),
    named('scores the trees of a student as their rows, if it can be a teacher', (backbone) =>
      checkTeacher(backbone, tolerance),
    ),
    { name: 'trains a slope that repeats the policy loss as that loss', run: () => checkSlope(open, tolerance) },
    named('refuses a slope that is not a number for each term', (backbone) => checkBadSlope(backbone, tolerance)),
  ];
}

async function checkVersion(backbone: Backbone): Promise<void> {
  const tree = inTrees(backbone);
  const before = await backbone.engine.generate({ promptIds, sampling });
  const metrics = await backbone.trainStep({ packs: tree, loss: plainLoss });
  const after = await backbone.engine.generate({ promptIds, sampling });
  assert.deepEqual(
    [before.policyVersion, metrics.policyVersion, backbone.policyVersion, after.policyVersion],
    [0, 1, 1, 1],
  );
  if (backbone.capabilities.reportsGradNorm) assert.ok((metrics.gradNorm ?? 0) > 0, `gradNorm ${metrics.gradNorm}`);
  else assert.equal(metrics.gradNorm, null);
  assert.ok(Number.isFinite(metrics.loss));
  assert.equal(
    metrics.trainedTokens,
    tree.reduce((sum, { terms }) => sum + terms.pair.length, 0),
  );
}

async function checkAdvantage(backbone: Backbone): Promise<void> {
  const { ids, logprobs } = await backbone.engine.generate({ promptIds, sampling });
  const sample = toSample(ids, logprobs);
  await backbone.trainStep({ packs: packTrees([sample], { maxPackTokens: 64 }).packs, loss: plainLoss });
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

/** A teacher gets every token that samples share once, and answers as if each row came alone. */
async function checkTeacher(backbone: Backbone, tolerance: number): Promise<void> {
  if (backbone.termLogprobs === undefined) return;
  const numTokens: number[] = [];
  const teacher: Teacher = {
    takes: backbone.capabilities.takes,
    termLogprobs: async (packs, temperature) => {
      numTokens.push(...packs.map(({ ids }) => ids.length));
      return (await backbone.termLogprobs?.(packs, temperature)) ?? [];
    },
    close: async () => undefined,
  };
  const group = { groupId: 'g', episodes: [{ episodeId: 'e', reward: 0, samples }] };
  const [scored] = await askTeacher([group], teacher, { temperature: 1, maxPackTokens: 64 });
  const alone = await backbone.logprobs(samples);
  const found = scored?.episodes.flatMap((episode) => episode.samples) ?? [];
  found.forEach(({ lossMask, teacherLogprobs }, row) =>
    lossMask.forEach((mask, at) => {
      if (mask === 1) assertClose(teacherLogprobs?.[at], alone[row]?.[at], tolerance);
    }),
  );
  const rowTokens = sum(samples.map(({ ids }) => ids.length));
  if (teacher.takes === 'packs') assert.ok(sum(numTokens) < rowTokens, `${sum(numTokens)} tokens of ${rowTokens}`);
}

/** Trains the packs and the tree from the same weights, and expects the same loss, gradient norm and next weights. */
async function checkSameStep(open: () => Promise<Backbone>, layout: Layout, tolerance: number): Promise<void> {
  const [expected, found] = [await stepFrom(open, inTrees, plainLoss), await stepFrom(open, layout, plainLoss)];
  const numbersOf = ({ metrics }: { readonly metrics: TrainStepMetrics }) => [
    metrics.loss,
    metrics.gradNorm ?? 0,
    metrics.rowTokens,
    metrics.trainedTokens,
  ];
  assertAllClose(numbersOf(found), numbersOf(expected), tolerance);
  found.logprobs.forEach((row, index) => assertAllClose(row, expected.logprobs[index] ?? [], 10 * tolerance));
}

async function stepFrom(open: () => Promise<Backbone>, layout: Layout, stepLoss: TrainBatch['loss']) {
  const backbone = await open();
  try {
    const metrics = await backbone.trainStep({ packs: layout(backbone), loss: stepLoss });
    return { metrics, logprobs: await backbone.logprobs(samples), capabilities: backbone.capabilities };
  } finally {
    await backbone.close();
  }
}

/** Checks that a step with learning rate 0 changes nothing, and that the next step uses the backbone's own rate. */
async function checkOverrides(backbone: Backbone, tolerance: number): Promise<void> {
  const packs = inTrees(backbone);
  const before = await backbone.logprobs(samples);
  const still = await backbone.trainStep({ packs, loss: plainLoss, optimizer: { learningRate: 0 } });
  assert.equal(still.learningRate, 0);
  for (const [index, row] of (await backbone.logprobs(samples)).entries())
    assertAllClose(row, before[index] ?? [], tolerance);
  const { learningRate } = await backbone.trainStep({ packs, loss: plainLoss });
  assert.ok(learningRate > 0, `the rate of the next step is ${learningRate}`);
  const after = await backbone.logprobs(samples);
  assert.ok(
    after.some((row, index) =>
      row.some((logprob, t) => Math.abs(logprob - (before[index]?.[t] ?? 0)) > 10 * tolerance),
    ),
    'the next step changed nothing',
  );
}

async function checkTerms(backbone: Backbone, tolerance: number): Promise<void> {
  const packs = inTrees(backbone);
  const scores = await backbone.logprobs(samples);
  const silent = await backbone.trainStep({ packs, loss: plainLoss, optimizer: { learningRate: 0 } });
  assert.equal(silent.terms, undefined);
  const { terms: reports, clipFraction } = await backbone.trainStep({ packs, loss: plainLoss, reportTerms: true });
  assert.equal(reports?.length, packs.length);
  let [numTerms, numClipped] = [0, 0];
  for (const [index, { terms, positions, predictors }] of packs.entries()) {
    const report: TermReport | undefined = reports?.[index];
    assert.deepEqual(
      [report?.logprobs.length, report?.ratios.length, report?.clipped.length],
      Array.from({ length: 3 }, () => terms.pair.length),
    );
    for (const [term, pair] of terms.pair.entries()) {
      const expected = scores[terms.sequence[term] ?? 0]?.[(positions[predictors[pair] ?? 0] ?? 0) + 1] ?? Number.NaN;
      assertClose(report?.logprobs[term], expected, 10 * tolerance);
      const ratio = Math.exp(expected - (terms.logprobs[term] ?? 0));
      assertClose(report?.ratios[term], ratio, 10 * tolerance * Math.max(1, ratio));
      const entropy = report?.entropies?.[term] ?? 0;
      assert.ok(entropy >= 0 && Number.isFinite(entropy), `an entropy of ${entropy}`);
      numClipped += report?.clipped[term] ?? 0;
      numTerms += 1;
    }
  }
  assertClose(numClipped / numTerms, clipFraction, tolerance);
}

/** dLoss / dlogprob of the policy loss, from the oracle. */
const policySlope: SlopeLoss = {
  kind: 'slope',
  temperature: 1,
  slope: ({ logprobs, behaviour, advantages }) =>
    logprobs.map(
      (logprob, k) =>
        termLoss(logprob, { advantage: advantages[k] ?? 0, behaviour: behaviour[k] ?? 0, reference: 0 }, plainLoss)
          .slope,
    ),
};

async function checkSlope(open: () => Promise<Backbone>, tolerance: number): Promise<void> {
  const expected = await stepFrom(open, inTrees, plainLoss);
  if (!expected.capabilities.losses.includes('slope')) return;
  const found = await stepFrom(open, inTrees, policySlope);
  const numbersOf = ({ metrics }: { readonly metrics: TrainStepMetrics }) => [
    metrics.gradNorm ?? 0,
    metrics.entropy ?? 0,
    metrics.logprobGapMax,
    metrics.logprobGapMean,
    metrics.trainedTokens,
    metrics.policyVersion,
  ];
  assertAllClose(numbersOf(found), numbersOf(expected), tolerance);
  found.logprobs.forEach((row, index) => assertAllClose(row, expected.logprobs[index] ?? [], 10 * tolerance));
}

async function checkBadSlope(backbone: Backbone, tolerance: number): Promise<void> {
  if (!backbone.capabilities.losses.includes('slope')) return;
  const packs = inTrees(backbone);
  const before = await backbone.logprobs(samples);
  for (const slope of [() => [], ({ logprobs }: SlopeTerms) => logprobs.fill(Number.NaN)])
    await assertRejects(backbone.trainStep({ packs, loss: { ...policySlope, slope } }), 'bad_slope', BackboneError);
  assert.equal(backbone.policyVersion, 0);
  for (const [index, row] of (await backbone.logprobs(samples)).entries())
    assertAllClose(row, before[index] ?? [], tolerance);
}

/** Returns the prompt followed by these ids, trained with advantage 1. */
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
