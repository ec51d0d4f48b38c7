import { rowOf, type LossCase } from '../loss-case.js';

export const misGeometricCase: LossCase = {
  name: 'mis-geometric',
  source:
    'Liu, Li et al. 2025, "When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch", masked by the geometric mean of a sequence',
  loss: {
    clipLow: 0.2,
    clipHigh: 0.28,
    dualClip: 0,
    correction: { level: 'geometric', mode: 'mask', lower: 0.95, upper: 1.1 },
  },
  reference: (k, l, terms) => {
    const { proximal, behaviour, advantages } = terms;
    const row = rowOf(k, terms);
    const product = row.reduce((all, t) => all * Math.exp((proximal[t] ?? 0) - (behaviour[t] ?? 0)), 1);
    const weight = product ** (1 / row.length);
    if (weight < 0.95 || weight > 1.1) return 0;
    const ratio = Math.exp((l[k] ?? 0) - (proximal[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return -weight * Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
  },
};
