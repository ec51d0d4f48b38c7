import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween } from '../figures/change.js';
import { between, meanOf } from '../figures/series.js';
import { isGood } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

/** At 0.5 nats per token, the reference model gives a token 0.6 of the chance that the model does. */
const mostKl = 0.5;
/** A smaller coefficient, such as the default of 0.002, does not hold a model that the reward pulls away. */
const weakest = 0.005;

/** Whether the KL loss is too weak to hold the model. Then a collapse follows from the drift, otherwise it is the reason. */
export const isUnheld = ({ settings: { klCoefficient = 1 } }: ExaminedRun): boolean => klCoefficient < weakest;

export const klDrift: Cause = {
  name: 'kl_drift',
  needs: ['kl'],
  threshold: 'over 0.5 nats per token from the reference model at the end, and twice as much as in the first step',
  explains: ['stopped_learning', 'hollow_reward', 'length_drift', 'no_gain'],
  look(run) {
    const { kl } = run.figures;
    if (kl === undefined || isGood(run)) return undefined;
    const [start, end] = [between(kl, 0, 0.01), between(kl, 0.9, 1)];
    const change = changeBetween(kl, { from: start, to: end });
    if (change === undefined || change.low <= 0 || change.after < mostKl || change.after < 2 * change.before)
      return undefined;
    return {
      summary: `The model has moved far from its reference: ${figure(change.after)} nats per token at the end, ${figure(meanOf(between(kl, 0.4, 0.6).values))} at half of the run, ${figure(change.before)} in its first step.`,
      cure: `${run.settings.usesKl === false ? 'Set trainer_common.use_kl_loss: true, raise' : 'Raise'} trainer_common.kl_loss_coef, or lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)}.`,
      since: end.steps[0] ?? 0,
      ...(isUnheld(run) && { explains: [...klDrift.explains, 'collapsed', 'lost_part'] }),
      taken: Math.min(1, change.after / (change.after + mostKl)),
    };
  },
};
