import type { LossCase } from '../loss-case.js';

export const tisCase: LossCase = {
  name: 'tis',
  source:
    'Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training"; the ratio against the weights that the batch began with: Hilton et al. 2022, "Batch size-invariance for policy optimization"',
  loss: {
    clipLow: 0.2,
    clipHigh: 0.28,
    dualClip: 0,
    correction: { level: 'token', mode: 'truncate', lower: 0, upper: 1.3 },
  },
  reference: (k, l, { proximal, behaviour, advantages }) => {
    const weight = Math.min(Math.exp((proximal[k] ?? 0) - (behaviour[k] ?? 0)), 1.3);
    const ratio = Math.exp((l[k] ?? 0) - (proximal[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return -weight * Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
  },
};
