import { rowOf, type LossCase } from '../loss-case.js';

export const misSequenceCase: LossCase = {
  name: 'mis-sequence',
  source:
    'Liu, Li et al. 2025, "When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch", masked importance sampling of sequences',
  loss: {
    clipLow: 0.2,
    clipHigh: 0.28,
    dualClip: 0,
    correction: { level: 'sequence', mode: 'mask', lower: 0, upper: 1.3 },
  },
  reference: (k, l, terms) => {
    const { proximal, behaviour, advantages } = terms;
    const weight = rowOf(k, terms).reduce((all, t) => all * Math.exp((proximal[t] ?? 0) - (behaviour[t] ?? 0)), 1);
    const ratio = Math.exp((l[k] ?? 0) - (proximal[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return weight > 1.3 ? 0 : -weight * Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.8), 1.28) * advantage);
  },
};
