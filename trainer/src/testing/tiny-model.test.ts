import { createRandom, type LossOptions } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomSamples } from './random-samples.js';
import { createTinyWeights, tinyGradient } from './tiny-model.js';

const shape = { vocabSize: 4, width: 3 };
const weights = createTinyWeights(shape, 1);
const reference = createTinyWeights(shape, 2);
const samples = createRandomSamples(createRandom(3), { numRows: 8, maxLength: 6, vocabSize: 4, numEpisodes: 3 });
const [pack] = packTrees(samples, { maxPackTokens: 200 }).packs;
const policy: LossOptions = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  klCoef: 0.2,
  klEstimator: 'k1',
  entropyCoef: 0.05,
  temperature: 0.7,
};

describe('the oracle', () => {
  it.each<[string, LossOptions]>([
    ['sft', { kind: 'sft' }],
    ['policy, k1', policy],
    ['policy, k2', { ...policy, klEstimator: 'k2' }],
    ['policy, k3, no dual clip', { ...policy, klEstimator: 'k3', dualClip: 0 }],
  ])('has the gradient of finite differences: %s', (_, loss) => {
    if (pack === undefined) throw new Error('There is no pack.');
    const { gradient } = tinyGradient(weights, shape, pack, loss, reference);
    const lossAt = (index: number, change: number) =>
      tinyGradient(
        weights.map((weight, at) => (at === index ? weight + change : weight)),
        shape,
        pack,
        loss,
        reference,
      ).loss;
    for (let index = 0; index < weights.length; index++) {
      expect(gradient[index]).toBeCloseTo((lossAt(index, 1e-5) - lossAt(index, -1e-5)) / 2e-5, 7);
    }
  });
});
