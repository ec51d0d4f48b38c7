import { describe, expect, it } from 'vitest';
import { createConfig } from '../testing/test-composition.js';
import { rateAt, toRatePlan } from './rate-plan.js';

const linear = { trainerCommon: { optim: { lr: 1, lrSchedulerType: 'linear' as const } } };

describe('the learning rate of a step', () => {
  it('follows the steps of the loop, of which each second one trained nothing', () => {
    const plan = toRatePlan(createConfig(linear), 8);
    const rates = [1, 3, 5, 7].map((step) => rateAt(plan, { step, index: 0 }));
    expect(rates).toEqual([1, 0.75, 0.5, 0.25]);
  });

  it('moves within a step of several optimizer steps, to the same place whether or not all of them were made', () => {
    const several = { trainerCommon: { ...linear.trainerCommon, miniBatchNum: 2, ppoEpochs: 2 } };
    const plan = toRatePlan(createConfig(several), 2);
    const rates = [0, 1, 2, 3].map((index) => rateAt(plan, { step: 2, index }));
    expect(rates).toEqual([0.5, 0.375, 0.25, 0.125]);
  });
});
