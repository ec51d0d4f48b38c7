import { describe, expect, it, test } from 'vitest';
import { createRandom } from '@agentjet/core';
import { packTrees } from '../../../../packing/pack-trees.js';
import { createRandomSamples } from '../../../../testing/random-samples.js';
import { OnnxModel } from '../onnx-model.js';
import { plainOptimizer, policyLoss, tinyModel } from '../testing-model.js';
import { toFloats, toFrozenWeights } from './frozen-weights.js';
import { blockSize, toBlocks, zeroCode } from './int8-blocks.js';
import { WeightFiles } from './weight-files.js';

describe('blocks of int8', () => {
  it('are wrong by at most half a scale, and exact for 0 and the largest weight', () => {
    const random = createRandom(3);
    const weights = Float32Array.from({ length: 4 * blockSize }, () => random.next() - 0.5);
    weights.fill(0, blockSize, 2 * blockSize);
    weights.set([0, -4, 4], 2 * blockSize);
    const [codes, scales] = [new Uint8Array(weights.length), new Float32Array(4)];
    toBlocks(weights, { codes, scales });
    for (const [index, weight] of weights.entries()) {
      const scale = scales[Math.floor(index / blockSize)] ?? NaN;
      expect(Math.abs(((codes[index] ?? NaN) - zeroCode) * scale - weight)).toBeLessThanOrEqual(scale / 2 + 1e-7);
    }
    expect(codes.slice(blockSize, 2 * blockSize)).toEqual(new Uint8Array(blockSize).fill(zeroCode));
    expect(codes.slice(2 * blockSize, 2 * blockSize + 3)).toEqual(Uint8Array.of(128, 1, 255));
  });
});

const shapes = {
  'Qwen2, tied': { hidden_size: 32, intermediate_size: 64, head_dim: 8 },
  'Llama, untied': {
    model_type: 'llama',
    tie_word_embeddings: false,
    hidden_size: 32,
    intermediate_size: 64,
    head_dim: 8,
  },
};
const still = { ...plainOptimizer, learningRate: 0, weightDecay: 0 };
const samples = createRandomSamples(createRandom(4), { numRows: 9, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
const { packs } = packTrees(samples, { maxPackTokens: 64, weighting: 'row' });
const { packs: rows } = packTrees(samples, { maxPackTokens: 64, weighting: 'row', sharing: 'none' });
const cases = (['float16', 'int8'] as const).flatMap((format) =>
  Object.values(shapes).map((shape) => [format, shape] as const),
);

test.each(cases)(
  'trees over a base in %s have the gradient of rows over its numbers as floats',
  async (format, configJson) => {
    const stored = tinyModel({ configJson, lora: { rank: 3 }, format, optimizer: still });
    const { base } = stored;
    if (base === undefined || base.weights instanceof WeightFiles) throw new Error('The model has no adapter.');
    const values = toFloats(base.layout, base.weights);
    const reference = new OnnxModel({
      config: stored.config,
      weights: stored.parameters,
      base: { ...base, weights: { format: 'float32', values } },
      optimizer: still,
    });
    const expected = await reference.trainStep({ packs: rows, loss: policyLoss });
    const found = await stored.trainStep({ packs, loss: policyLoss });
    expect(found.loss / expected.loss).toBeCloseTo(1, 5);
    const differences = stored.gradients.map((gradient, index) => gradient - (reference.gradients[index] ?? NaN));
    expect(Math.hypot(...differences) / Math.hypot(...reference.gradients)).toBeLessThan(1e-5);
    await Promise.all([stored.close(), reference.close()]);
  },
);

test('refuses by name what a format cannot hold', () => {
  const { layout, parameters } = tinyModel();
  const weights = Float32Array.from(parameters);
  expect(() => toFrozenWeights(layout, 'int8', weights)).toThrow(
    'onnx.frozen_weights is int8, which needs matrices whose rows have a multiple of 32 numbers; "model.embed_tokens.weight" has 8. Use float16.',
  );
  weights[0] = 1e5;
  expect(() => toFrozenWeights(layout, 'float16', weights)).toThrow('"model.embed_tokens.weight" has a larger one');
});
