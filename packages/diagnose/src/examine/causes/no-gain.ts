import { formatChange } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { heldOutChange, isGood } from '../outcome.js';
import { figure } from '../words.js';

export const noGain: Cause = {
  name: 'no_gain',
  needs: ['evaluations'],
  threshold: 'the 95% interval of the change between the first and the last evaluation contains 0',
  explains: [],
  look(run) {
    const change = heldOutChange(run);
    if (change === undefined || isGood(run) || change.low > 0 || change.high < 0) return undefined;
    const [first, last] = [run.evaluations[0]?.step, run.evaluations.at(-1)?.step];
    return {
      summary: `Held-out success did not change by more than chance: ${figure(change.before)} at step ${first}, ${figure(change.after)} at step ${last}, a change of ${formatChange(change)}.`,
      cure: `Train longer, or evaluate on more tasks: with four times as many, a change of ${figure(Math.abs(change.high - change.low) / 4)} can be seen.`,
      taken: 0.05,
    };
  },
};
