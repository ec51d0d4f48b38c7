import { expect, test } from 'vitest';
import type { OptimizerOptions } from '@agentjet/core';
import { learningRateAt } from './learning-rate.js';

const options: OptimizerOptions = {
  learningRate: 1,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: 'linear',
  warmupSteps: 4,
  totalSteps: 12,
};
const rates = (schedule: OptimizerOptions['schedule']) =>
  Array.from({ length: 14 }, (_, step) => learningRateAt({ ...options, schedule }, step));

test('warmup rises in equal steps and already trains at the first', () => {
  for (const schedule of ['constant', 'linear', 'cosine'] as const)
    expect(rates(schedule).slice(0, 5)).toEqual([0.25, 0.5, 0.75, 1, 1]);
});

test('linear and cosine end at zero, constant does not end', () => {
  expect(rates('linear').slice(8)).toEqual([0.5, 0.375, 0.25, 0.125, 0, 0]);
  expect(rates('cosine')[8]).toBeCloseTo(0.5);
  expect(rates('cosine')[12]).toBe(0);
  expect(rates('constant')[13]).toBe(1);
});

test('no warmup starts at the full rate', () => {
  expect(learningRateAt({ ...options, warmupSteps: 0 }, 0)).toBe(1);
});
