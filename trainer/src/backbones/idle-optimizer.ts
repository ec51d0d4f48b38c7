import type { OptimizerOptions } from '@agentjet/core';

/** Options for a model that is opened only to answer calls. A step with these options would not change the weights. */
export const idleOptimizer: OptimizerOptions = {
  learningRate: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 0,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 1,
};
