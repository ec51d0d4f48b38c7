import { createRandom } from '@agentjet/core';
import type { LossOptions, Sample, TreePack } from '@agentjet/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { padPack } from '../../../testing/pad-pack.js';
import { packTrees } from '../../../packing/pack-trees.js';
import { createRandomSamples } from '../../../testing/random-samples.js';
import { plainOptimizer, policyLoss, sampleOf, tinyModel } from './testing-model.js';
import type { PackOptions } from '../../../packing/check-options.js';
import type { FloatArray } from './optimizer/optimizer-memory.js';
import type { OnnxModel } from './onnx-model.js';

const still = { ...plainOptimizer, learningRate: 0, weightDecay: 0 };
const doubles = tinyModel({ precision: 'float64', optimizer: still });
const singles = tinyModel({ optimizer: still });
/** With rows of four tokens, every tree is cut into several rows. */
const acrossRows = { pathRowLengths: [4], pathReadCost: Number.NEGATIVE_INFINITY };
const doublesAcross = tinyModel({ precision: 'float64', optimizer: still, limits: acrossRows });
const singlesAcross = tinyModel({ optimizer: still, limits: acrossRows });
const recomputed = { ...acrossRows, maxKeptTokens: () => 0 };
const doublesAgain = tinyModel({ precision: 'float64', optimizer: still, limits: recomputed });
const singlesAgain = tinyModel({ optimizer: still, limits: recomputed });
afterAll(async () => {
  for (const model of [doubles, singles, doublesAcross, singlesAcross, doublesAgain, singlesAgain]) await model.close();
});

const comparisons = [
  { onRows: doubles, onTrees: [doubles, doublesAcross, doublesAgain], tolerance: 1e-9 },
  { onRows: singles, onTrees: [singles, singlesAcross, singlesAgain], tolerance: 1e-5 },
];

type Result = { readonly loss: number; readonly gradients: FloatArray };

async function train(model: OnnxModel, packs: readonly TreePack[], loss: LossOptions = policyLoss): Promise<Result> {
  const metrics = await model.trainStep({ packs, loss });
  return { loss: metrics.loss, gradients: model.gradients.slice() };
}

function relativeDistance(left: FloatArray, right: FloatArray): number {
  let [difference, size] = [0, 0];
  for (let index = 0; index < right.length; index++) {
    difference += ((left[index] ?? 0) - (right[index] ?? 0)) ** 2;
    size += (right[index] ?? 0) ** 2;
  }
  return Math.sqrt(difference / size);
}

function rowsOf(samples: readonly Sample[], weighting: PackOptions['weighting'] = 'row'): readonly TreePack[] {
  return packTrees(samples, { maxPackTokens: 64, weighting, sharing: 'none' }).packs;
}

async function expectSameGradient(
  samples: readonly Sample[],
  packs: readonly TreePack[],
  options: { readonly weighting?: PackOptions['weighting']; readonly loss?: LossOptions } = {},
): Promise<void> {
  const rows = rowsOf(samples, options.weighting);
  for (const { onRows, onTrees, tolerance } of comparisons) {
    const expected = await train(onRows, rows, options.loss);
    for (const model of onTrees) {
      const found = await train(model, packs, options.loss);
      expect(relativeDistance(found.gradients, expected.gradients)).toBeLessThan(tolerance);
      expect(Math.abs(found.loss - expected.loss)).toBeLessThan(tolerance);
    }
  }
}

const mask = (text: string): number[] => [...text].map(Number);

const tries: { readonly [name: string]: readonly Sample[] } = {
  'a row that is a prefix of another': [
    sampleOf([1, 2, 3], mask('011')),
    sampleOf([1, 2, 3, 4, 5], mask('01111'), { episodeId: 'b' }),
  ],
  duplicates: [sampleOf([1, 2, 3, 4], mask('0111')), sampleOf([1, 2, 3, 4], mask('0111'), { episodeId: 'b', seed: 9 })],
  'a branch inside a generated span': [
    sampleOf([1, 2, 3, 4, 5], mask('00111')),
    sampleOf([1, 2, 3, 6, 7], mask('00111'), { episodeId: 'b', seed: 9 }),
  ],
  'a branch at position 0': [
    sampleOf([1, 2, 3], mask('011')),
    sampleOf([4, 2, 3], mask('011'), { episodeId: 'b', seed: 9 }),
  ],
  'many roots': Array.from({ length: 9 }, (_, root) =>
    sampleOf([root, 2, 3, root], mask('0101'), { episodeId: `${root}`, seed: root }),
  ),
  'one-token rows': [
    sampleOf([1], mask('0')),
    sampleOf([2], mask('0'), { episodeId: 'b' }),
    sampleOf([2, 3], mask('01'), { episodeId: 'c' }),
  ],
  'a row that ends at a branch': [
    sampleOf([1, 2, 3], mask('011')),
    sampleOf([1, 2, 3, 4], mask('0001'), { episodeId: 'b' }),
    sampleOf([1, 2, 3, 5], mask('0001'), { episodeId: 'c' }),
  ],
};

describe('a tree has the gradient of its rows', () => {
  test.each(Object.entries(tries))('%s', async (_, samples) => {
    await expectSameGradient(samples, packTrees(samples, { maxPackTokens: 64, weighting: 'row' }).packs);
  });

  test('random tries, packed small enough to be split, in both weighting modes', async () => {
    const cases = fc.record({
      seed: fc.nat(),
      numRows: fc.integer({ min: 1, max: 8 }),
      maxPackTokens: fc.integer({ min: 8, max: 48 }),
      weighting: fc.constantFrom('row' as const, 'episode' as const),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ seed, numRows, maxPackTokens, weighting }) => {
        const samples = createRandomSamples(createRandom(seed), {
          numRows,
          maxLength: 6,
          vocabSize: 11,
          numEpisodes: 3,
        });
        fc.pre(samples.some(({ lossMask }) => lossMask.includes(1)));
        await expectSameGradient(samples, packTrees(samples, { maxPackTokens, weighting }).packs, { weighting });
      }),
      { numRuns: 40 },
    );
  });

  test('the supervised loss, and every KL estimator', async () => {
    const samples = createRandomSamples(createRandom(5), { numRows: 8, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
    const { packs } = packTrees(samples, { maxPackTokens: 64, weighting: 'row' });
    for (const klEstimator of ['k1', 'k2', 'k3'] as const)
      await expectSameGradient(samples, packs, { loss: { ...policyLoss, klEstimator } });
    await expectSameGradient(samples, packs, { loss: { kind: 'sft' } });
  });
});

describe('what changes nothing', () => {
  const samples = createRandomSamples(createRandom(11), { numRows: 9, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  const { packs } = packTrees(samples, { maxPackTokens: 64, weighting: 'row' });

  test('the order of the rows', async () => {
    const reversed = packTrees(samples.toReversed(), { maxPackTokens: 64, weighting: 'row' }).packs;
    const [expected, found] = [await train(doubles, packs), await train(doubles, reversed)];
    expect(relativeDistance(found.gradients, expected.gradients)).toBeLessThan(1e-12);
  });

  test('padding', async () => {
    const padded = packs.map((pack) => padPack(pack, pack.ids.length + 13));
    const [expected, found] = [await train(doubles, packs), await train(doubles, padded)];
    expect(relativeDistance(found.gradients, expected.gradients)).toBeLessThan(1e-12);
  });

  test('an unrelated tree adds exactly its own gradient', async () => {
    const other = packTrees([sampleOf([3, 1, 4, 1, 5], mask('01010'))], { maxPackTokens: 64 }).packs;
    const apart = [await train(doubles, packs), await train(doubles, other)];
    const sum =
      apart[0]?.gradients.map((gradient, index) => gradient + (apart[1]?.gradients[index] ?? 0)) ?? new Float64Array();
    expect(relativeDistance((await train(doubles, [...packs, ...other])).gradients, sum)).toBeLessThan(1e-12);
  });
});

test('the logprobs inside a tree are those of the rows', async () => {
  const random = createRandomSamples(createRandom(3), { numRows: 12, maxLength: 9, vocabSize: 11, numEpisodes: 4 });
  const scored = await singles.logprobs(random);
  const samples = random.map((sample, index) => ({
    ...sample,
    logprobs: sample.lossMask.reduce(
      (kept, one, t) => (one === 0 ? kept.fill(0, t, t + 1) : kept),
      (scored[index] ?? new Float32Array()).slice(),
    ),
  }));
  const metrics = await singles.trainStep({
    packs: packTrees(samples, { maxPackTokens: 64, weighting: 'row' }).packs,
    loss: { ...policyLoss, temperature: 1 },
  });
  expect(metrics.logprobGapMax).toBeLessThan(1e-5);
  expect(metrics.clipFraction).toBe(0);
});

test.each(['row', 'episode'] as const)(
  'ten optimizer steps on trees end where ten steps on rows end (%s weighting)',
  async (weighting) => {
    const optimizer = { ...plainOptimizer, epsilon: 1e-4 };
    const [onTrees, onRows] = [
      tinyModel({ precision: 'float64', optimizer }),
      tinyModel({ precision: 'float64', optimizer }),
    ];
    for (let step = 0; step < 10; step++) {
      const samples = createRandomSamples(createRandom(100 + step), {
        numRows: 12,
        maxLength: 8,
        vocabSize: 11,
        numEpisodes: 3,
      });
      const [tree, rows] = [
        await onTrees.trainStep({
          packs: packTrees(samples, { maxPackTokens: 48, weighting }).packs,
          loss: policyLoss,
        }),
        await onRows.trainStep({ packs: rowsOf(samples, weighting), loss: policyLoss }),
      ];
      expect(tree.loss).toBeCloseTo(rows.loss, 8);
      expect(tree.gradNorm).toBeCloseTo(rows.gradNorm, 8);
    }
    expect(relativeDistance(onTrees.parameters, onRows.parameters)).toBeLessThan(1e-9);
    await onTrees.close();
    await onRows.close();
  },
);
