import type { LossCase } from '../loss-case.js';

export const clipHigherCase: LossCase = {
  name: 'clip-higher',
  source:
    'Yu et al. 2025, "DAPO", eq. 8 and 10; the dual clip: Ye et al. 2020, "Mastering Complex Control in MOBA Games", eq. 5',
  loss: { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  reference: (k, l, { behaviour, advantages }) => {
    const ratio = Math.exp((l[k] ?? 0) - (behaviour[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    const clipped = Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
    return -(advantage < 0 ? Math.max(clipped, 3 * advantage) : clipped);
  },
};
