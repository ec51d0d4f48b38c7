import { describe, expect, it } from 'vitest';
import { creditGroups } from '../loop/credit-groups.js';
import { createRandomGroup } from '../testing/random-group.js';
import { createGrpo } from './grpo/grpo.js';
import { createReinforce } from './reinforce/reinforce.js';

const groups = [
  createRandomGroup('a', [0, 1, 3], { isCut: () => false, vocabSize: 5 }),
  createRandomGroup('b', [2, 2], { isCut: () => true, vocabSize: 5 }),
  createRandomGroup('c', [5, 1], { isCut: () => true, vocabSize: 5 }),
];

function trainedAdvantages(credited: ReturnType<typeof creditGroups>): number[] {
  return credited.flatMap(({ samples }) =>
    samples.flatMap(({ advantages, lossMask }) => [...advantages].filter((_, t) => lossMask[t] === 1)),
  );
}

describe('whitened advantages', () => {
  it('have mean 0 and deviation 1 over the trained tokens of the whole batch', () => {
    const values = trainedAdvantages(creditGroups(createReinforce({ baseline: 'none' }), groups, true));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    expect(mean).toBeCloseTo(0, 6);
    expect(variance).toBeCloseTo(1, 5);
  });

  it('leave groups without a gradient, and tokens that are not trained, at 0', () => {
    const credited = creditGroups(createGrpo(), groups, true);
    expect(credited.map(({ hasGradient }) => hasGradient)).toEqual([true, false, true]);
    for (const { samples, hasGradient } of credited) {
      for (const { advantages, lossMask } of samples)
        expect([...advantages].every((value, t) => (value !== 0) === (hasGradient && lossMask[t] === 1))).toBe(true);
    }
  });

  it('are the plain ones, moved and scaled', () => {
    const plain = trainedAdvantages(creditGroups(createReinforce({ baseline: 'none' }), groups));
    const white = trainedAdvantages(creditGroups(createReinforce({ baseline: 'none' }), groups, true));
    const slope = ((white[0] ?? 0) - (white.at(-1) ?? 0)) / ((plain[0] ?? 0) - (plain.at(-1) ?? 0));
    for (const [index, value] of white.entries())
      expect(value).toBeCloseTo((white[0] ?? 0) + slope * ((plain[index] ?? 0) - (plain[0] ?? 0)), 5);
  });
});
