import type { OptimizerOptions } from '@agentjet/core';

/** Returns AdamW options with a constant rate, and without decay or clipping unless `changes` sets them. */
export function adamOptions(learningRate: number, changes: Partial<OptimizerOptions> = {}): OptimizerOptions {
  return {
    learningRate,
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weightDecay: 0,
    maxGradNorm: 0,
    schedule: 'constant',
    warmupSteps: 0,
    totalSteps: 0,
    ...changes,
  };
}
