import { rowOf, type LossCase } from '../loss-case.js';

export const gspoCase: LossCase = {
  name: 'gspo',
  source: 'Zheng et al. 2025, "Group Sequence Policy Optimization", eq. 13 and 14',
  loss: { objective: 'gspo', clipLow: 0.1, clipHigh: 0.15, dualClip: 0 },
  reference: (k, l, terms) => {
    const { logprobs, proximal, advantages } = terms;
    const row = rowOf(k, terms);
    const mean = row.reduce((sum, t) => sum + (logprobs[t] ?? 0) - (proximal[t] ?? 0), 0) / row.length;
    const ratio = Math.exp(mean) * (Math.exp(l[k] ?? 0) / Math.exp(logprobs[k] ?? 0));
    const advantage = advantages[k] ?? 0;
    return -Math.min(ratio * advantage, Math.min(Math.max(ratio, 0.9), 1.15) * advantage);
  },
};
