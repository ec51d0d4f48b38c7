import type { Algorithm, EpisodeGroup, LossOptions, Sample } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { creditGroups } from '../loop/credit-groups.js';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomGroup } from '../testing/random-group.js';
import { createTinyWeights, tinyGradient } from '../testing/tiny-model.js';
import { createGrpo } from './grpo/grpo.js';
import { createMaxrl } from './maxrl/maxrl.js';
import { createReinforce } from './reinforce/reinforce.js';
import { createSft } from './sft/sft.js';
import { plainLoss } from '../testing/plain-loss.js';
import { creditAll } from '../testing/algorithm-cases.js';

const shape = { vocabSize: 5, width: 4 };
const weights = createTinyWeights(shape, 3);
const policy: LossOptions = { ...plainLoss, entropyCoef: 0.02 };

function group(groupId: string, rewards: readonly number[], isCut: (episode: number) => boolean): EpisodeGroup {
  return createRandomGroup(groupId, rewards, { isCut, vocabSize: shape.vocabSize });
}

function gradient(
  algorithm: Algorithm,
  groups: readonly EpisodeGroup[],
  normalization: 'token' | 'sequence',
): Float64Array {
  const { packs } = packTrees(creditAll(algorithm, groups), { maxPackTokens: 20, normalization });
  const sum = new Float64Array(weights.length);
  for (const pack of packs)
    tinyGradient(weights, shape, pack, policy, weights).gradient.forEach(
      (value, index) => (sum[index] = (sum[index] ?? 0) + value),
    );
  return sum;
}

function firstAdvantages(samples: readonly Sample[]): number[] {
  return samples.map(({ advantages, lossMask }) => advantages[lossMask.indexOf(1)] ?? Number.NaN);
}

const rewardLists = fc.array(fc.constantFrom(0, 0.5, 1, -1), { minLength: 1, maxLength: 5 });
const algorithms = fc.constantFrom(createGrpo(), createReinforce(), createMaxrl(), createSft());

describe('every algorithm', () => {
  it('gives the same gradient however its episodes are cut into samples', () => {
    fc.assert(
      fc.property(
        rewardLists,
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        algorithms,
        fc.constantFrom('token', 'sequence'),
        (rewards, cuts, algorithm, normalization) => {
          const whole = gradient(algorithm, [group('g', rewards, () => false)], normalization);
          const cut = gradient(algorithm, [group('g', rewards, (index) => cuts[index] ?? false)], normalization);
          cut.forEach((value, index) => expect(value).toBeCloseTo(whole[index] ?? Number.NaN, 7));
        },
      ),
    );
  });

  it('does not care in which order the groups come', () => {
    fc.assert(
      fc.property(rewardLists, rewardLists, algorithms, (first, second, algorithm) => {
        const groups = [group('g', first, () => true), group('h', second, () => false)];
        const forward = gradient(algorithm, groups, 'token');
        const backward = gradient(algorithm, groups.toReversed(), 'token');
        backward.forEach((value, index) => expect(value).toBeCloseTo(forward[index] ?? Number.NaN, 9));
      }),
    );
  });

  it('credits generated tokens only, and changes nothing else', () => {
    const [before] = group('g', [1, 0], () => true).episodes;
    const [after] = createGrpo().credit(group('g', [1, 0], () => true));
    expect(after?.advantages.map((advantage) => (advantage === 0 ? 0 : 1))).toEqual(
      Float32Array.from(after?.lossMask ?? []),
    );
    expect({ ...after, advantages: undefined }).toEqual({ ...before?.samples[0], advantages: undefined });
  });

  it('refuses a reward that is not a number, naming the episode', () => {
    for (const algorithm of [createGrpo(), createReinforce(), createMaxrl()]) {
      expect(() => algorithm.credit(group('g', [1, Number.NaN], () => true))).toThrow(
        /reward of episode "g\/1" is NaN/,
      );
    }
  });
});

describe('rewards that are equal but for rounding', () => {
  const noise = [0.1 + 0.2, 0.3, 0.15 + 0.15, 0.6 / 2];
  const cases = [
    ['grpo', createGrpo()],
    ['grpo without std', createGrpo({ normalizeByStd: false })],
    ['maxrl', createMaxrl()],
    ['leave-one-out', createReinforce({ baseline: 'group' })],
    ['baseline of the batch', createReinforce({ baseline: 'batch' })],
  ] as const;
  it.each(cases)('%s: train nothing, also whitened', (_, algorithm) => {
    for (const rewards of [noise, [0, 1e-17, -1e-17, 0], noise.map((value) => value * 1e6)]) {
      for (const isWhitened of [false, true]) {
        const [credited] = creditGroups(algorithm, [group('g', rewards, () => false)], isWhitened);
        expect(credited?.hasGradient).toBe(false);
        expect(firstAdvantages(credited?.samples ?? []).every((advantage) => advantage === 0)).toBe(true);
      }
    }
  });

  it('without a baseline train nothing if they are 0 but for rounding, or whitened', () => {
    const algorithm = createReinforce({ baseline: 'none' });
    expect(creditGroups(algorithm, [group('g', [1e-17, 0], () => false)])[0]?.hasGradient).toBe(false);
    expect(creditGroups(algorithm, [group('g', noise, () => false)], true)[0]?.hasGradient).toBe(false);
    expect(creditGroups(algorithm, [group('g', noise, () => false)])[0]?.hasGradient).toBe(true);
  });

  it('per turn and target train nothing either', () => {
    const [a = 0, b = 0] = noise;
    const { episodes, groupId } = group('g', [0, 0], () => false);
    const rewarded = episodes.map((episode, index) => ({ ...episode, rewards: { agent: index === 0 ? a : b } }));
    expect(creditGroups(createGrpo(), [{ groupId, episodes: rewarded }])[0]?.hasGradient).toBe(false);
  });

  it('and real small differences keep their advantages', () => {
    const [credited] = creditGroups(createGrpo(), [group('g', [0, 1e-4], () => false)]);
    expect(credited?.hasGradient).toBe(true);
  });
});

describe('grpo', () => {
  it('compares episodes, not samples, with n - 1 in the standard deviation', () => {
    const advantages = firstAdvantages(createGrpo().credit(group('g', [1, 0, 0, 0], () => false)));
    for (const [index, expected] of [1.5, -0.5, -0.5, -0.5].entries())
      expect(advantages[index]).toBeCloseTo(expected, 4);
    const plain = firstAdvantages(createGrpo({ normalizeByStd: false }).credit(group('g', [1, 0, 0, 0], () => false)));
    expect(plain).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it('gives an episode alone in its group, and episodes of equal reward, the advantage 0', () => {
    const grpo = createGrpo();
    expect(firstAdvantages(grpo.credit(group('g', [1], () => false)))).toEqual([0]);
    expect(firstAdvantages(grpo.credit(group('g', [0.1, 0.1, 0.1], () => false)))).toEqual([0, 0, 0]);
  });
});

describe('maxrl', () => {
  it.each([
    [
      [1, 0, 0, 0],
      [3, -1, -1, -1],
    ],
    [
      [1, 1, 1, 0],
      [1 / 3, 1 / 3, 1 / 3, -1],
    ],
    [
      [-2, -1],
      [-1, 1],
    ],
    [
      [0.1, 0.1, 0.1],
      [0, 0, 0],
    ],
    [[1], [0]],
  ])('of rewards %j makes %j: a success is worth the more, the rarer it is', (rewards, expected) => {
    const advantages = firstAdvantages(createMaxrl().credit(group('g', rewards, () => false)));
    for (const [index, value] of expected.entries()) expect(advantages[index]).toBeCloseTo(value, 4);
  });
});

describe('reinforce', () => {
  it('subtracts nothing, the mean of the siblings, or the mean of the batch', () => {
    const advantagesOf = (baseline: 'none' | 'group' | 'batch', groups: EpisodeGroup[]) =>
      firstAdvantages(creditAll(createReinforce({ baseline }), groups));
    const groups = [group('g', [1, 0], () => false), group('h', [1, 1], () => false)];
    expect(advantagesOf('none', groups)).toEqual([1, 0, 1, 1]);
    expect(advantagesOf('group', groups)).toEqual([1, -1, 0, 0]);
    const [won, lost, ...others] = advantagesOf('batch', groups);
    expect([won, lost, ...others].map((value) => Math.round((value ?? 0) * 100) / 100)).toEqual([0.5, -1.5, 0.5, 0.5]);
  });
});
