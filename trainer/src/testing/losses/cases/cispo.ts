import type { LossCase } from '../loss-case.js';

export const cispoCase: LossCase = {
  name: 'cispo',
  source: 'MiniMax 2025, "MiniMax-M1", eq. 4 and 5',
  loss: { objective: 'cispo', clipLow: 1, clipHigh: 0.28, dualClip: 0 },
  reference: (k, l, { logprobs, behaviour, advantages }) => {
    const ratio = Math.exp((logprobs[k] ?? 0) - (behaviour[k] ?? 0));
    return -Math.min(Math.max(ratio, 0), 1.28) * (advantages[k] ?? 0) * (l[k] ?? 0);
  },
};
