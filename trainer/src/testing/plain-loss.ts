import type { LossOptions } from '@agentjet/core';

/** The clipped loss of PPO without a KL or an entropy term, for tokens that were sampled at temperature 1. */
export const plainLoss: LossOptions & { readonly kind: 'policy' } = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoef: 0,
  klEstimator: 'k3',
  entropyCoef: 0,
  temperature: 1,
};
