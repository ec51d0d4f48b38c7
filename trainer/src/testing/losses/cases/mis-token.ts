import type { LossCase } from '../loss-case.js';

export const misTokenCase: LossCase = {
  name: 'mis-token',
  source:
    'Liu, Li et al. 2025, "When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch", masked importance sampling of tokens',
  loss: {
    clipLow: 0.2,
    clipHigh: 0.28,
    dualClip: 0,
    correction: { level: 'token', mode: 'mask', lower: 0, upper: 1.3 },
  },
  reference: (k, l, { proximal, behaviour, advantages }) => {
    const weight = Math.exp((proximal[k] ?? 0) - (behaviour[k] ?? 0));
    const ratio = Math.exp((l[k] ?? 0) - (proximal[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return weight > 1.3 ? 0 : -weight * Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
  },
};
