import { createRandom } from '@agentjet/core';
import type { LossOptions, TrainBatch, TreePack } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { packTrees } from '../../../packing/pack-trees.js';
import { collectGarbage } from '../../../testing/collect-garbage.js';
import { createRandomSamples } from '../../../testing/random-samples.js';
import { plainOptimizer, policyLoss, sampleOf, tinyModel } from './testing-model.js';
import type { OnnxModel } from './onnx-model.js';
import { problemOf } from '../../../testing/problem-of.js';

function randomBatch(seed: number, loss: LossOptions = policyLoss): TrainBatch {
  const samples = createRandomSamples(createRandom(seed), { numRows: 10, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  return { packs: packTrees(samples, { maxPackTokens: 48 }).packs, loss };
}

async function withModel<Result>(model: OnnxModel, use: (model: OnnxModel) => Promise<Result>): Promise<Result> {
  try {
    return await use(model);
  } finally {
    await model.close();
  }
}

/** Returns the batch with one element of one array changed. */
function withElement(batch: TrainBatch, change: (pack: TreePack) => void): TrainBatch {
  const packs = structuredClone(batch.packs);
  const [first] = packs;
  if (first !== undefined) change(first);
  return { ...batch, packs };
}

describe('an optimizer step', () => {
  test('learns: the supervised loss of a fixed batch falls', () =>
    withModel(tinyModel({ optimizer: { ...plainOptimizer, learningRate: 0.02 } }), async (model) => {
      const batch = randomBatch(1, { kind: 'sft' });
      const first = await model.trainStep(batch);
      for (let step = 0; step < 40; step++) await model.trainStep(batch);
      const last = await model.trainStep(batch);
      expect(last.loss).toBeLessThan(first.loss / 2);
      expect(last.policyVersion).toBe(42);
    }));

  test('reports what it trained', () =>
    withModel(tinyModel(), async (model) => {
      const shared = [sampleOf([1, 2, 3, 4], [0, 0, 1, 1]), sampleOf([1, 2, 3, 5], [0, 0, 0, 1], { episodeId: 'b' })];
      const { packs } = packTrees(shared, { maxPackTokens: 48 });
      const metrics = await model.trainStep({ packs, loss: policyLoss });
      expect(metrics).toMatchObject({
        trainedTokens: 3,
        rowTokens: 8,
        treeTokens: 5,
        policyVersion: 1,
        learningRate: plainOptimizer.learningRate,
      });
      expect(metrics.entropy).toBeGreaterThan(0);
      expect(metrics.entropy).toBeLessThan(Math.log(11));
      expect(metrics.kl).toBeGreaterThan(0);
      expect(metrics.logprobGapMax).toBeGreaterThanOrEqual(metrics.logprobGapMean);
    }));

  test('clips the global gradient norm', async () => {
    const batch = randomBatch(2);
    const gradientScale = async (maxGradNorm: number) =>
      withModel(tinyModel({ optimizer: { ...plainOptimizer, maxGradNorm, weightDecay: 0 } }), async (model) => {
        const { gradNorm } = await model.trainStep(batch);
        const { firstMoments } = await model.withState(async (state) => state);
        return { gradNorm, moment: Math.hypot(...firstMoments) };
      });
    const [free, clipped] = [await gradientScale(0), await gradientScale(0.05)];
    expect(clipped.gradNorm).toBeCloseTo(free.gradNorm, 6);
    expect(free.moment).toBeCloseTo(0.1 * free.gradNorm, 5);
    expect(clipped.moment).toBeCloseTo(0.1 * 0.05, 5);
  });

  test('decays matrices, not norms and biases', () =>
    withModel(
      tinyModel({ optimizer: { ...plainOptimizer, learningRate: 0.5, weightDecay: 1, beta1: 0, epsilon: 1e12 } }),
      async (model) => {
        const before = model.parameters.slice();
        await model.trainStep(randomBatch(3));
        for (const { shape, offset } of model.layout.parameters) {
          expect((model.parameters[offset] ?? 0) / (before[offset] ?? 0)).toBeCloseTo(shape.length === 2 ? 0.5 : 1, 5);
        }
      },
    ));

  test('is the same however the batch is cut into micro-batches', async () => {
    const batch = randomBatch(4);
    const gradientsOf = (maxTokens: number) =>
      withModel(
        tinyModel({ precision: 'float64', limits: { maxTokens: () => maxTokens, fewTokens: 0 } }),
        async (model) => {
          await model.trainStep(batch);
          return model.gradients.slice();
        },
      );
    const [whole, cut] = [await gradientsOf(4096), await gradientsOf(16)];
    expect(Math.max(...cut.map((gradient, index) => Math.abs(gradient - (whole[index] ?? 0))))).toBeLessThan(1e-14);
  });

  test('gives the same weights to the last bit in a second run', async () => {
    const weightsAfter = () =>
      withModel(tinyModel({ threads: 2 }), async (model) => {
        for (let step = 0; step < 3; step++) await model.trainStep(randomBatch(step));
        return model.parameters.slice();
      });
    expect(await weightsAfter()).toEqual(await weightsAfter());
  });
});

test('a pack with pairs but no terms trains nothing and breaks nothing', () =>
  withModel(tinyModel({ optimizer: { ...plainOptimizer, weightDecay: 0 } }), async (model) => {
    const none = new Float32Array(0);
    const packs = randomBatch(8).packs.map((pack) => ({
      ...pack,
      terms: { pair: new Int32Array(0), sequence: new Int32Array(0), weights: none, advantages: none, logprobs: none },
    }));
    const metrics = await model.trainStep({ packs, loss: policyLoss });
    expect(metrics).toMatchObject({ loss: 0, gradNorm: 0, trainedTokens: 0, entropy: 0 });
  }));

describe('the policy loss', () => {
  const single = (logprobShift: number, advantage: number, loss: Partial<typeof policyLoss>) =>
    withModel(tinyModel({ precision: 'float64' }), async (model) => {
      const ids = [1, 2, 3];
      const [logprobs] = await model.logprobs([{ ids: Int32Array.from(ids) }]);
      const sample = sampleOf(ids, [0, 0, 1], {
        logprobs: Float32Array.of(0, 0, (logprobs?.[2] ?? 0) - logprobShift),
        advantages: Float32Array.of(0, 0, advantage),
      });
      const metrics = await model.trainStep({
        packs: packTrees([sample], { maxPackTokens: 8 }).packs,
        loss: { ...policyLoss, klCoef: 0, entropyCoef: 0, temperature: 1, dualClip: 0, ...loss },
      });
      return { loss: metrics.loss, clipped: metrics.clipFraction, gradNorm: metrics.gradNorm };
    });

  test.each([
    { name: 'inside the bounds', shift: 0.1, advantage: 2, loss: -2 * Math.exp(0.1), clipped: 0 },
    { name: 'a good token that became too likely', shift: 1, advantage: 2, loss: -2 * 1.28, clipped: 1 },
    { name: 'a good token that became unlikely', shift: -1, advantage: 2, loss: -2 * Math.exp(-1), clipped: 0 },
    { name: 'a bad token that became too unlikely', shift: -1, advantage: -2, loss: 2 * 0.8, clipped: 1 },
    { name: 'a bad token that became likely', shift: 1, advantage: -2, loss: 2 * Math.exp(1), clipped: 0 },
  ])('$name', async ({ shift, advantage, loss, clipped }) => {
    const result = await single(shift, advantage, {});
    expect(result.loss).toBeCloseTo(loss, 5);
    expect(result.clipped).toBe(clipped);
    expect(result.gradNorm > 1e-9).toBe(clipped === 0);
  });

  test('dual clip bounds the cost of a bad token that became likely', async () => {
    const result = await single(2, -1, { dualClip: 3 });
    expect(result).toMatchObject({ clipped: 1 });
    expect(result.loss).toBeCloseTo(3, 6);
    expect(result.gradNorm).toBeLessThan(1e-9);
  });

  test('is the same to the last bit for sampled logprobs that differ by rounding, if the present weights sampled them', async () => {
    const ids = [
      [1, 2, 3, 4],
      [1, 2, 5, 6],
      [7, 8, 9],
    ];
    const stepWith = (noise: (term: number) => number, isOnPolicy: boolean) =>
      withModel(tinyModel(), async (model) => {
        const exact = await model.logprobs(ids.map((row) => ({ ids: Int32Array.from(row) })));
        const noisy = (row: Float32Array): Float32Array =>
          row.map((logprob, at) => (at === 0 ? 0 : logprob + noise(at)));
        const samples = ids.map((row, index) =>
          sampleOf(
            row,
            row.map((_, at) => Math.min(at, 1)),
            { episodeId: String(index), logprobs: noisy(exact[index] ?? new Float32Array()) },
          ),
        );
        const { loss } = await model.trainStep({
          packs: packTrees(samples, { maxPackTokens: 48 }).packs,
          loss: { ...policyLoss, temperature: 1 },
          isOnPolicy,
        });
        return { loss, weights: model.parameters.slice() };
      });
    const exact = await stepWith(() => 0, true);
    expect(await stepWith((at) => 1e-5 * Math.sin(at), true)).toEqual(exact);
    expect((await stepWith((at) => 1e-5 * Math.sin(at), false)).weights).not.toEqual(exact.weights);
    // The difference is not rounding but another distribution: top-p, or a temperature of the request.
    expect(await stepWith(() => 0.05, true)).toEqual(await stepWith(() => 0.05, false));
  });

  test.each([
    ['above its bound', 1, 3],
    ['at the dual clip', -1, 3],
    ['without an advantage', 0, 0],
  ])('a ratio that no float holds trains like any other that is clipped: %s', (_, advantage, dualClip) =>
    withModel(tinyModel({ optimizer: { ...plainOptimizer, learningRate: 0 } }), async (model) => {
      const gradientsAt = async (behaviour: number) => {
        const samples = [
          sampleOf([1, 2, 3], [0, 0, 1], {
            logprobs: Float32Array.of(0, 0, behaviour),
            advantages: Float32Array.of(0, 0, advantage),
          }),
          sampleOf([1, 2, 4], [0, 0, 1], { episodeId: 'b' }),
        ];
        const { loss } = await model.trainStep({
          packs: packTrees(samples, { maxPackTokens: 48 }).packs,
          loss: { ...policyLoss, dualClip },
        });
        return { loss, gradients: model.gradients.slice() };
      };
      expect(await gradientsAt(-9999)).toEqual(await gradientsAt(-20));
    }),
  );

  test('the KL term is zero at the start and grows as the weights leave their frozen copy', () =>
    withModel(
      tinyModel({ reference: 'initial', optimizer: { ...plainOptimizer, learningRate: 0.05 } }),
      async (model) => {
        const first = await model.trainStep(randomBatch(5));
        expect(first.kl).toBeLessThan(1e-9);
        let last = first;
        for (let step = 0; step < 10; step++) last = await model.trainStep(randomBatch(5));
        expect(last.kl).toBeGreaterThan(0.001);
      },
    ));
});

describe('what cannot be trained is refused and changes nothing', () => {
  const nothingSupervised = packTrees([sampleOf([1, 2], [0, 1])], { maxPackTokens: 8 }).packs.map((pack) => ({
    ...pack,
    predictors: new Int32Array(0),
    targets: new Int32Array(0),
    terms: {
      pair: new Int32Array(0),
      sequence: new Int32Array(0),
      weights: new Float32Array(0),
      advantages: new Float32Array(0),
      logprobs: new Float32Array(0),
    },
  }));
  test.each([
    [
      'an id beyond the vocabulary',
      withElement(randomBatch(6), ({ ids }) => ids.fill(11, 1, 2)),
      'bad_batch: Pack 0 of the batch cannot be trained: ids[1] is 11, outside [0, 11)',
    ],
    [
      'an advantage that is not finite',
      withElement(randomBatch(6), ({ terms }) => terms.advantages.fill(Number.NaN, 0, 1)),
      'bad_batch: Pack 0 of the batch cannot be trained: terms.advantages[0] is NaN',
    ],
    ['an end before its token', withElement(randomBatch(6), ({ ends }) => ends.fill(0, 2, 3)), 'ends[2] is 0'],
    [
      'arrays of different lengths',
      {
        ...randomBatch(6),
        packs: randomBatch(6).packs.map((pack) => ({ ...pack, targets: pack.targets.subarray(1) })),
      },
      'its pairs have different lengths',
    ],
    [
      'nothing supervised',
      { packs: nothingSupervised, loss: policyLoss },
      'bad_batch: The batch of 1 packs supervises no token',
    ],
    [
      'a row that attention cannot hold',
      {
        packs: packTrees(
          [
            sampleOf(
              Array.from({ length: 40_000 }, () => 1),
              Array.from({ length: 40_000 }, (_, at) => Number(at > 0)),
            ),
          ],
          { maxPackTokens: 48 },
        ).packs,
        loss: policyLoss,
      },
      'overlong_row: A row of 40000 tokens is too long for the onnx backbone',
    ],
    [
      'a loss that is not a number',
      { ...randomBatch(6), loss: { ...policyLoss, clipLow: Number.NaN } },
      'non_finite_gradient: The gradient norm of optimizer step 1 is',
    ],
    [
      'a gradient that is not finite',
      withElement(randomBatch(6), ({ terms }) => terms.weights.fill(3e38)),
      'non_finite_gradient: The gradient norm of optimizer step 1 is',
    ],
  ])('%s', (_, batch, problem) =>
    withModel(tinyModel(), async (model) => {
      const before = model.parameters.slice();
      expect(await problemOf(model.trainStep(batch))).toContain(problem);
      expect(model.parameters).toEqual(before);
      expect(model.policyVersion).toBe(0);
      await model.trainStep(randomBatch(6));
      expect(model.policyVersion).toBe(1);
    }),
  );

  test('an aborted step', () =>
    withModel(tinyModel({ limits: { maxTokens: () => 8, fewTokens: 0 } }), async (model) => {
      const before = model.parameters.slice();
      const controller = new AbortController();
      const step = model.trainStep(randomBatch(7), { signal: controller.signal });
      setImmediate(() => controller.abort(new Error('enough')));
      expect(await problemOf(step)).toContain('aborted');
      expect(model.parameters).toEqual(before);
    }));
});

test('rows of any length are scored, in one call or in several', () =>
  withModel(tinyModel(), async (model) => {
    const rows = [[1, 2, 3, 4, 5, 6], [], [7], [8, 9]].map((ids) => ({ ids: Int32Array.from(ids) }));
    const together = await model.logprobs(rows);
    const apart = await Promise.all(rows.map(async (row) => (await model.logprobs([row]))[0]));
    expect(together.map((logprobs) => logprobs.length)).toEqual([6, 0, 1, 2]);
    for (const [index, logprobs] of together.entries()) {
      expect(logprobs[0] ?? 0).toBe(0);
      for (const [t, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(apart[index]?.[t] ?? Number.NaN, 5);
    }
    expect(await problemOf(model.logprobs([{ ids: Int32Array.of(1, 99) }]))).toContain('ids[1] is 99');
  }));

test('resident memory after 200 steps is at most 1.2 times that after 20, with batches of all sizes', () =>
  withModel(tinyModel({ limits: { maxTokens: () => 24, fewTokens: 8 } }), async (model) => {
    const batches = Array.from({ length: 10 }, (_, seed) => randomBatch(200 + seed)).filter(
      ({ packs }) => packs.length > 0,
    );
    const residentAfter = async (steps: number) => {
      for (let step = 1; step <= steps; step++) {
        await model.trainStep(batches[step % batches.length] ?? randomBatch(1));
        if (step % 10 === 0) collectGarbage();
      }
      return process.memoryUsage.rss();
    };
    const early = await residentAfter(20);
    expect(await residentAfter(180)).toBeLessThan(1.2 * early);
  }));
