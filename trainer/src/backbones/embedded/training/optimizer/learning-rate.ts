/** Computes the learning rate over optimizer steps. */

import type { OptimizerOptions } from '@agentjet/core';

/**
 * Returns the rate of step `step`, counted from 0. During warmup it is (step + 1) / warmupSteps of the full rate. Then
 * it is constant, or falls to 0 at `totalSteps`, either linearly or along half a cosine (Loshchilov and Hutter 2017).
 * After `totalSteps` it is 0.
 */
export function learningRateAt(options: OptimizerOptions, step: number): number {
  const { learningRate, schedule, warmupSteps, totalSteps } = options;
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  if (schedule === 'constant') return learningRate;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  const share = schedule === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return learningRate * share;
}
