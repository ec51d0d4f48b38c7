import type { LossCase } from '../loss-case.js';

export const reinforceCase: LossCase = {
  name: 'reinforce',
  source: 'Williams 1992, "Simple Statistical Gradient-Following Algorithms"',
  loss: { objective: 'reinforce', clipLow: 0.2, clipHigh: 0.2, dualClip: 0 },
  reference: (k, l, { advantages }) => -(advantages[k] ?? 0) * (l[k] ?? 0),
};
