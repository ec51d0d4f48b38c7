import type { Algorithm, EpisodeGroup, LossOptions, TreePack } from '@agentjet/core';
import { afterAll, expect, it } from 'vitest';
import { creditGroups } from '../loop/credit-groups.js';
import { packTrees } from '../packing/pack-trees.js';
import { padPack } from '../testing/pad-pack.js';
import { createRandomGroup } from '../testing/random-group.js';
import { createRandomOnnxModel } from '../testing/random-onnx-model.js';
import { createGrpo } from './grpo/grpo.js';
import { createReinforce } from './reinforce/reinforce.js';
import { createSft } from './sft/sft.js';
import { adamOptions } from '../testing/adam-options.js';
import { plainLoss } from '../testing/plain-loss.js';
import { tinyConfig } from '../testing/tiny-config.js';

const vocabSize = 16;
const configJson = tinyConfig({
  vocab_size: vocabSize,
  hidden_size: 16,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  intermediate_size: 24,
});
const still = adamOptions(0);
const loss: LossOptions = { ...plainLoss, entropyCoef: 0.02 };
const model = createRandomOnnxModel({ configJson, seed: 1, optimizer: still, threads: 1 });
afterAll(() => model.close());

async function gradientOf(
  algorithm: Algorithm,
  groups: readonly EpisodeGroup[],
  change: (pack: TreePack) => TreePack = (pack) => pack,
) {
  const samples = creditGroups(algorithm, groups).flatMap((credited) => credited.samples);
  await model.trainStep({ packs: packTrees(samples, { maxPackTokens: 64 }).packs.map(change), loss });
  return model.gradients.slice();
}

function relativeDistance(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  const norm = (values: number[]) => Math.hypot(...values);
  return (
    norm(Array.from(expected, (value, index) => (found[index] ?? Number.NaN) - value)) / norm(Array.from(expected))
  );
}

const groups = (isCut: (episode: number) => boolean) => [
  createRandomGroup('g', [1, 0, 0.5, 0], { isCut, vocabSize }),
  createRandomGroup('h', [0, 1], { isCut, vocabSize }),
];

it.each([createGrpo(), createReinforce(), createSft()])(
  '$name: the embedded backbone gets one gradient however episodes are cut, groups ordered and packs padded',
  async (algorithm) => {
    const expected = await gradientOf(
      algorithm,
      groups(() => false),
    );
    expect(Math.hypot(...expected)).toBeGreaterThan(1e-3);
    expect(
      relativeDistance(
        await gradientOf(
          algorithm,
          groups(() => true),
        ),
        expected,
      ),
    ).toBeLessThan(1e-5);
    expect(
      relativeDistance(
        await gradientOf(
          algorithm,
          groups((episode) => episode % 2 === 0),
        ),
        expected,
      ),
    ).toBeLessThan(1e-5);
    expect(relativeDistance(await gradientOf(algorithm, groups(() => true).toReversed()), expected)).toBeLessThan(1e-5);
    expect(
      relativeDistance(
        await gradientOf(
          algorithm,
          groups(() => true),
          (pack) => padPack(pack, 70),
        ),
        expected,
      ),
    ).toBeLessThan(1e-5);
  },
);
