import type { LossCase } from '../loss-case.js';

export const icepopCase: LossCase = {
  name: 'icepop',
  source:
    'Ling Team 2025, "Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model", IcePop',
  loss: {
    clipLow: 0.2,
    clipHigh: 0.28,
    dualClip: 0,
    correction: { level: 'token', mode: 'mask', lower: 0.8, upper: 1.3 },
  },
  reference: (k, l, { proximal, behaviour, advantages }) => {
    const weight = Math.exp((proximal[k] ?? 0) - (behaviour[k] ?? 0));
    if (weight < 0.8 || weight > 1.3) return 0;
    const ratio = Math.exp((l[k] ?? 0) - (proximal[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return -weight * Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
  },
};
