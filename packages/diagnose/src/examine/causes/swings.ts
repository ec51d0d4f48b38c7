import type { Cause } from '../cause.js';
import { areShares } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

export const swings: Cause = {
  name: 'swings',
  needs: ['evaluations'],
  threshold: 'success falls twice between evaluations, each time by more than the 95% intervals of both',
  explains: ['stopped_learning', 'no_gain', 'no_spread'],
  look(run) {
    if (!areShares(run.evaluations)) return undefined;
    const falls = run.evaluations.flatMap((after, at) => {
      const before = run.evaluations[at - 1];
      return before?.low !== undefined && after.high !== undefined && after.high < before.low
        ? [{ before, after }]
        : [];
    });
    const [first] = falls;
    if (first === undefined || falls.length < 2) return undefined;
    const deepest = Math.max(...falls.map(({ before, after }) => before.score - after.score));
    return {
      summary: `Held-out success swings: it fell ${falls.length} times by more than chance, by up to ${figure(deepest)} (first from ${figure(first.before.score)} at step ${first.before.step} to ${figure(first.after.score)} at step ${first.after.step}).`,
      cure: `Lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)} or raise data.train_batch_size. trainer_common.keep_best: success_rate keeps the best checkpoint.`,
      since: first.before.step,
      taken: deepest,
    };
  },
};
