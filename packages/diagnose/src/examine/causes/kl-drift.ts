import type { Cause } from '../cause.js';
import { changeBetween } from '../figures/change.js';
import { between, meanOf } from '../figures/series.js';
import { isGood } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

/** At 1 nat per token, the reference model gives the tokens of an answer a third of the chance that the model does. */
const mostKl = 1;

export const klDrift: Cause = {
  name: 'kl_drift',
  needs: ['kl'],
  threshold:
    'over 1 nat per token from the reference model at the end, and twice as much as in the first quarter of the run',
  explains: ['stopped_learning', 'collapsed', 'hollow_reward', 'length_drift', 'no_gain'],
  look(run) {
    const { kl } = run.figures;
    if (kl === undefined || isGood(run)) return undefined;
    const [start, end] = [between(kl, 0, 0.25), between(kl, 0.9, 1)];
    const change = changeBetween(kl, { from: start, to: end });
    if (change === undefined || change.low <= 0 || change.after < mostKl || change.after < 2 * change.before)
      return undefined;
    return {
      summary: `The model has moved far from its reference: ${figure(change.after)} nats per token at the end, ${figure(meanOf(between(kl, 0.4, 0.6).values))} at half of the run, ${figure(change.before)} in its first quarter.`,
      cure: `${run.settings.usesKl === false ? 'Set trainer_common.use_kl_loss: true, raise' : 'Raise'} trainer_common.kl_loss_coef, or lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)}.`,
      since: end.steps[0] ?? 0,
      taken: Math.min(1, change.after / (change.after + mostKl)),
    };
  },
};
