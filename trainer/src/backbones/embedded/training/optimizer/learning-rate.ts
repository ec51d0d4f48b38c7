/** The learning rate over optimizer steps. */

import type { OptimizerOptions } from '@agentjet/core';

/**
 * Rate of step `step`, counted from 0: (step + 1) / warmupSteps of the full rate during warmup; then constant, or
 * falling to 0 at `totalSteps` in a line or half a cosine (Loshchilov and Hutter 2017). 0 after `totalSteps`.
 */
export function learningRateAt(options: OptimizerOptions, step: number): number {
  const { learningRate, schedule, warmupSteps, totalSteps } = options;
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  if (schedule === 'constant') return learningRate;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  const share = schedule === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return learningRate * share;
}
