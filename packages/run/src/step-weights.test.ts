import { adamOptions } from '@agentjet/trainer/testing';
import type { OptimizerOptions } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { rateAt } from './step-weights.js';

const linear = (totalSteps: number): OptimizerOptions =>
  adamOptions(1, { beta2: 0.99, maxGradNorm: 1, schedule: 'linear', totalSteps });

describe('the learning rate of a step', () => {
  it('follows the steps of the loop, of which each second one trained nothing', () => {
    const recipe = { optimizer: linear(8), numMiniBatches: 1, numEpochs: 1 };
    const rates = [1, 3, 5, 7].map((step) => rateAt(recipe, { step, index: 0 }));
    expect(rates).toEqual([1, 0.75, 0.5, 0.25]);
  });

  it('moves within a step of several optimizer steps, to the same place whether or not all of them were made', () => {
    const recipe = { optimizer: linear(8), numMiniBatches: 2, numEpochs: 2 };
    const rates = [0, 1, 2, 3].map((index) => rateAt(recipe, { step: 2, index }));
    expect(rates).toEqual([0.5, 0.375, 0.25, 0.125]);
  });
});
