import type { OptimizerOptions } from '@agentjet/core';

/** AdamW at a constant rate, without decay and clipping, apart from what is changed. */
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
