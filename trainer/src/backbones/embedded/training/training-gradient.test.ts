import { outsideOfSet, wholeVocabulary, type LossOptions, type TreePack } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { packTrees } from '../../../packing/pack-trees.js';
import { plainOptimizer, policyLoss, sampleOf, tinyModel } from './testing-model.js';
import type { OnnxModel } from './onnx-model.js';

/** Branches inside a generated span, a row that is a prefix of another, and a second root. */
const samples = [
  sampleOf([1, 2, 3, 4, 5], [0, 0, 1, 1, 1], { episodeId: 'a' }),
  sampleOf([1, 2, 3, 6, 7, 8], [0, 0, 1, 1, 0, 1], { episodeId: 'b' }),
  sampleOf([1, 2, 3], [0, 1, 1], { episodeId: 'c' }),
  sampleOf([9, 10, 0, 1], [0, 1, 0, 1], { episodeId: 'd' }),
];
const { packs } = packTrees(samples, { maxPackTokens: 64 });

const losses: { readonly [name: string]: LossOptions } = {
  sft: { kind: 'sft' },
  'policy with k3 and entropy': policyLoss,
  'policy with k1': { ...policyLoss, klEstimator: 'k1', entropyCoef: 0 },
  'policy with k2': { ...policyLoss, klEstimator: 'k2' },
  'policy alone': { ...policyLoss, klCoef: 0, entropyCoef: 0, temperature: 1 },
};
const models = {
  'Qwen2, tied': {},
  'Qwen2, untied, one layer': { tie_word_embeddings: false, num_hidden_layers: 1 },
  'Qwen3, with normalized heads': { model_type: 'qwen3', head_dim: 6, num_hidden_layers: 1 },
  'Llama with attention bias and scaled positions': {
    model_type: 'llama',
    attention_bias: true,
    num_key_value_heads: 4,
    num_hidden_layers: 1,
    rope_scaling: {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 16,
    },
  },
};

/** Every second term was drawn from a part of the vocabulary. One of them has a token that is not in this part. */
const cutPacks = packs.map((pack) => {
  const { pair } = pack.terms;
  const target = (term: number): number => pack.targets[pair[term] ?? 0] ?? 0;
  const sets = Array.from(pair, (_, term) => [...new Set([target(term), 1, 4, 7])].toSorted((a, b) => a - b));
  const ends = sets.map((_, at) => sets.slice(0, at + 1).flat().length);
  const set = Int32Array.from(pair, (_, term) => (term === 1 ? outsideOfSet : term % 2 === 0 ? term : wholeVocabulary));
  const kept = { set, starts: Int32Array.of(0, ...ends), ids: Int32Array.from(sets.flat()) };
  return { ...pack, terms: { ...pack.terms, kept } };
});

/** A step with a learning rate of zero computes gradients and changes nothing. */
const still = { ...plainOptimizer, learningRate: 0, weightDecay: 0 };

async function lossOf(model: OnnxModel, loss: LossOptions, batch: readonly TreePack[] = packs): Promise<number> {
  return (await model.trainStep({ packs: batch, loss })).loss;
}

describe('gradients of a whole model equal difference quotients in double precision', () => {
  const cases = [
    ...Object.keys(losses).map((loss) => ({ loss, model: 'Qwen2, tied' as const, batch: packs })),
    { loss: 'policy with k3 and entropy', model: 'Qwen2, tied' as const, batch: cutPacks, what: 'over what was kept' },
    ...(Object.keys(models) as (keyof typeof models)[])
      .slice(1)
      .map((model) => ({ loss: 'policy with k3 and entropy', model, batch: packs })),
  ].map((each) => ({ what: 'over the vocabulary', ...each }));
  test.each(cases)('$loss, $model, $what', async ({ loss: lossName, model: modelName, batch }) => {
    const model = tinyModel({ configJson: models[modelName], precision: 'float64', optimizer: still });
    const loss = losses[lossName] ?? policyLoss;
    await lossOf(model, loss, batch);
    const gradients = model.gradients.slice();
    for (const { name, offset, size } of model.layout.parameters) {
      const places = Array.from({ length: Math.min(size, 4) }, (_, index) => offset + Math.floor((index * size) / 4));
      for (const place of places) {
        const original = model.parameters[place] ?? 0;
        model.parameters[place] = original + 1e-5;
        const above = await lossOf(model, loss, batch);
        model.parameters[place] = original - 1e-5;
        const below = await lossOf(model, loss, batch);
        model.parameters[place] = original;
        expect(Math.abs((above - below) / 2e-5 - (gradients[place] ?? 0)), `${name}[${place - offset}]`).toBeLessThan(
          1e-8,
        );
      }
    }
    await model.close();
  });
});
