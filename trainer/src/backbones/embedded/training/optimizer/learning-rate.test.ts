import { expect, test } from 'vitest';
import type { OptimizerOptions } from '@agentjet/core';
import { learningRateAt } from './learning-rate.js';
import { adamOptions } from '../../../../testing/adam-options.js';

const options: OptimizerOptions = adamOptions(1, {
  beta2: 0.99,
  maxGradNorm: 1,
  schedule: 'linear',
  warmupSteps: 4,
  totalSteps: 12,
});
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

test('a falling schedule whose end is not known keeps the full rate', () => {
  for (const schedule of ['linear', 'cosine', 'warmup_stable_decay'] as const)
    expect([3, 4, 99].map((step) => learningRateAt({ ...options, schedule, totalSteps: 0 }, step))).toEqual([1, 1, 1]);
});

test('a falling schedule ends at the least rate and stays there', () => {
  const at = (schedule: OptimizerOptions['schedule'], step: number) =>
    learningRateAt({ ...options, schedule, minRateShare: 0.1 }, step);
  expect([at('linear', 4), at('linear', 12), at('linear', 13)]).toEqual([1, 0.1, 0.1]);
  expect(at('linear', 8)).toBeCloseTo(0.55, 12);
  expect(at('cosine', 8)).toBeCloseTo(0.55, 12);
  expect(at('cosine', 99)).toBeCloseTo(0.1, 12);
  expect(at('constant', 13)).toBe(1);
});

test('warmup_stable_decay keeps the full rate until its decay', () => {
  const at = (step: number, decaySteps?: number) =>
    learningRateAt({ ...options, schedule: 'warmup_stable_decay', ...(decaySteps && { decaySteps }) }, step);
  expect([0, 3, 4, 8, 9, 10, 11, 12, 13].map((step) => at(step, 4))).toEqual([0.25, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0]);
  expect([9, 10, 11, 12].map((step) => at(step))).toEqual([1, 1, 0.5, 0]); // a tenth of 12 steps, rounded up
  expect(at(5, 100)).toBe(0.875); // the decay begins after the warmup
});
