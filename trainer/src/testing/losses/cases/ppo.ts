import type { LossCase } from '../loss-case.js';

export const ppoCase: LossCase = {
  name: 'ppo',
  source: 'Schulman et al. 2017, "Proximal Policy Optimization Algorithms", eq. 7',
  loss: { clipLow: 0.2, clipHigh: 0.2, dualClip: 0 },
  reference: (k, l, { behaviour, advantages }) => {
    const ratio = Math.exp((l[k] ?? 0) - (behaviour[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return -Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.2) * advantage);
  },
};
