import { BackboneError, outsideOfSet, wholeVocabulary, type LossOptions, type TreePack } from '@agentjet/core';
import { afterEach, describe, expect, test } from 'vitest';
import { packTrees } from '../../../packing/pack-trees.js';
import type { OnnxModel } from './onnx-model.js';
import { plainOptimizer, policyLoss, sampleOf, tinyModel } from './testing-model.js';

const truncation = { topP: 1, topK: 4 };
const cutLoss: LossOptions = { ...policyLoss, truncation };

let model: OnnxModel;
afterEach(() => model.close());

function open(): OnnxModel {
  model = tinyModel({ optimizer: { ...plainOptimizer, learningRate: 0.05 } });
  return model;
}

function packsOf(temperatures?: readonly number[]): readonly TreePack[] {
  const sampled = temperatures && { temperatures: Float32Array.from(temperatures) };
  const sample = sampleOf([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 1], { ...sampled });
  return packTrees([sample], { maxPackTokens: 64 }).packs;
}

/** Returns the batch with the tokens that its sets hold at each term. */
async function keptOf(packs: readonly TreePack[]) {
  const [kept] = await model.keptTokens(packs, { ...truncation, temperature: 0.8 });
  const [pack] = packs;
  if (kept === undefined || pack === undefined) throw new Error('no pack');
  return { kept, pack, size: (set: number) => (kept.starts[set + 1] ?? 0) - (kept.starts[set] ?? 0) };
}

describe('what top-p and top-k kept', () => {
  test('is as many tokens as top-k says, with the sampled one, or the term is left out', async () => {
    open();
    const { kept, pack, size } = await keptOf(packsOf());
    expect([...kept.set.keys()].every((term) => size(term) === 4)).toBe(true);
    for (const [term, set] of kept.set.entries()) {
      const target = pack.targets[pack.terms.pair[term] ?? 0] ?? -1;
      const ids = kept.ids.subarray(kept.starts[term], kept.starts[term + 1]);
      expect(set).toBe(ids.includes(target) ? term : outsideOfSet);
    }
    expect(kept.set).toContain(outsideOfSet);
  });

  test('is everything if a token was sampled greedily', async () => {
    open();
    const { kept } = await keptOf(packsOf([0, 0, 0, 0.8, 0, 0.8]));
    expect([kept.set[0], kept.set[2]]).toEqual([wholeVocabulary, wholeVocabulary]);
  });

  test('leaves out terms whose token it lacks, as if they had no weight, and counts them', async () => {
    open();
    const packs = packsOf();
    const { kept, pack } = await keptOf(packs);
    const numOutside = kept.set.filter((set) => set === outsideOfSet).length;
    const metrics = await model.trainStep({ packs, loss: cutLoss, reportTerms: true });
    expect(metrics).toMatchObject({ tokensOutsideSupport: numOutside, trainedTokens: 4 - numOutside });
    expect(Object.values(metrics).every((value) => typeof value !== 'number' || Number.isFinite(value))).toBe(true);
    expect(metrics.terms?.[0]?.logprobs.every(Number.isFinite)).toBe(true);
    const gradients = model.gradients.slice();
    await model.close();
    open();
    const weights = pack.terms.weights.map((weight, term) => (kept.set[term] === outsideOfSet ? 0 : weight));
    const set = kept.set.map((each) => (each === outsideOfSet ? wholeVocabulary : each));
    const same = { ...pack, terms: { ...pack.terms, weights, kept: { ...kept, set } } };
    await model.trainStep({ packs: [same], loss: cutLoss });
    expect(model.gradients).toEqual(gradients);
  });

  test('stays that of the weights that a batch began with', async () => {
    open();
    const { kept, pack } = await keptOf(packsOf());
    const anchored = { ...pack, terms: { ...pack.terms, kept } };
    const passes = [];
    for (let pass = 0; pass < 6; pass++) passes.push(await model.trainStep({ packs: [anchored], loss: cutLoss }));
    const counts = passes.map(({ tokensOutsideSupport }) => tokensOutsideSupport);
    expect(new Set(counts).size).toBe(1);
    const [now] = await model.keptTokens([pack], { ...truncation, temperature: 0.8 });
    expect(now?.ids).not.toEqual(kept.ids);
  });

  test('decides the slope of an algorithm with its own loss, too', async () => {
    open();
    const slope = (terms: { readonly logprobs: Float64Array; readonly advantages: Float64Array }) =>
      terms.advantages.map((advantage) => -advantage);
    const loss = { kind: 'slope', slope, temperature: 0.8, truncation } as const;
    const { kept, pack } = await keptOf(packsOf());
    const metrics = await model.trainStep({ packs: packsOf(), loss });
    expect(metrics.trainedTokens).toBe(kept.set.filter((set) => set !== outsideOfSet).length);
    const bySlope = model.gradients.slice();
    await model.close();
    open();
    const weights = pack.terms.weights.map((weight, term) => weight * (pack.terms.advantages[term] ?? 0));
    await model.trainStep({
      packs: [{ ...pack, terms: { ...pack.terms, weights, kept } }],
      loss: { kind: 'sft', temperature: 0.8 },
    });
    for (const [index, gradient] of model.gradients.entries()) expect(bySlope[index]).toBeCloseTo(gradient, 6);
  });

  test('is refused if it does not fit its pack', async () => {
    open();
    const { kept, pack } = await keptOf(packsOf());
    const bad = { ...pack, terms: { ...pack.terms, kept: { ...kept, ids: kept.ids.map(() => 99) } } };
    const error = await model.trainStep({ packs: [bad], loss: cutLoss }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BackboneError);
    expect(String(error)).toContain('terms.kept.ids[0] is 99');
  });
});
