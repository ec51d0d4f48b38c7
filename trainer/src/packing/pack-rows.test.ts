import { createRandom, type LossOptions, type TreePack } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandomSamples } from '../testing/random-samples.js';
import { createTinyWeights, tinyGradient } from '../testing/tiny-model.js';
import { packRows } from './pack-rows.js';
import type { PackOptions } from './check-options.js';
import { packTrees } from './pack-trees.js';
import type { Normalization } from './supervision.js';
import { plainLoss } from '../testing/plain-loss.js';

const shape = { vocabSize: 4, width: 5 };
const weights = createTinyWeights(shape, 1);
const reference = createTinyWeights(shape, 2);
const policy: LossOptions = { ...plainLoss, clipHigh: 0.28, klCoef: 0.1, entropyCoef: 0.01, temperature: 0.9 };

const samplesOf = fc
  .record({
    seed: fc.integer(),
    numRows: fc.integer({ min: 1, max: 12 }),
    maxLength: fc.integer({ min: 1, max: 8 }),
    numEpisodes: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ seed, ...options }) => createRandomSamples(createRandom(seed), { ...options, vocabSize: shape.vocabSize }));
const packOptions: fc.Arbitrary<PackOptions> = fc.record({
  maxPackTokens: fc.constant(64),
  weighting: fc.constantFrom('episode', 'row'),
  normalization: fc.constantFrom<Normalization[]>('token', 'sequence', { constantLength: 7 }),
});

function gradientOf(packs: readonly TreePack[]): { loss: number; gradient: Float64Array } {
  const sum = { loss: 0, gradient: new Float64Array(weights.length) };
  for (const pack of packs) {
    const part = tinyGradient(weights, shape, pack, policy, reference);
    sum.loss += part.loss;
    part.gradient.forEach((value, index) => (sum.gradient[index] = (sum.gradient[index] ?? 0) + value));
  }
  return sum;
}

describe('packRows', () => {
  it('gives rows with the loss and the gradient of the trees', () => {
    fc.assert(
      fc.property(samplesOf, packOptions, (samples, options) => {
        const [rows, trees] = [packRows(samples, options), packTrees(samples, options)];
        const [found, expected] = [gradientOf(rows.packs), gradientOf(trees.packs)];
        expect(found.loss).toBeCloseTo(expected.loss, 6); // weights are float32
        found.gradient.forEach((value, index) => expect(value).toBeCloseTo(expected.gradient[index] ?? 0, 6));
        expect(rows.report.trainedTokens).toBe(trees.report.trainedTokens);
        expect(rows.report.rowTokens).toBe(trees.report.rowTokens);
        expect(rows.packs.reduce((sum, pack) => sum + pack.rowTokens, 0)).toBe(rows.report.rowTokens);
      }),
    );
  });

  it('gives one row per leaf of an episode, and supervises what leaves share in the first of them alone', () => {
    fc.assert(
      fc.property(samplesOf, packOptions, (samples, options) => {
        const { packs, report } = packRows(samples, options);
        for (const { ids, positions, ends } of packs) {
          expect([...positions]).toEqual([...ids.keys()]);
          expect(ends.every((end) => end === ids.length)).toBe(true);
        }
        const seen = new Set<string>();
        for (const { ids, predictors, terms } of packs) {
          const episode = samples[terms.sequence[0] ?? 0]?.episodeId;
          for (const predictor of predictors) {
            const token = `${episode} ${ids.slice(0, predictor + 2).join()}`;
            expect(seen.has(token)).toBe(false);
            seen.add(token);
          }
        }
        expect(report.leafTokens).toBe(packs.reduce((sum, { ids }) => sum + ids.length, 0));
        expect(report.leafTokens).toBeGreaterThanOrEqual(report.treeTokens);
      }),
    );
  });
});
