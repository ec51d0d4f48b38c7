import type { Cause } from '../cause.js';
import { changeBetween, rises } from '../figures/change.js';
import { between, mean } from '../figures/series.js';
import { describeOutcome, figure, setting } from '../words.js';
import { goodSuccess, outcomeOf } from '../outcome.js';

/** The share of the entropy at the start. The rule that watches a running job has the same. */
const leastShare = 0.05;

export const lostVariety: Cause = {
  name: 'lost_variety',
  needs: ['entropy'],
  threshold: 'entropy under 5% of its start, while the reward no longer rises and success is below 0.8',
  explains: ['no_spread', 'stopped_learning', 'temperature_too_low', 'no_gain'],
  look(run) {
    const { entropy, reward } = run.figures;
    const outcome = outcomeOf(run);
    if (entropy === undefined || entropy.values.length < 5 || (outcome !== undefined && outcome.rate >= goodSuccess))
      return undefined;
    const [before, after] = [mean(between(entropy, 0, 0.05).values), mean(between(entropy, 0.9, 1).values)];
    if (before <= 0 || after >= leastShare * before) return undefined;
    if (
      reward !== undefined &&
      rises(changeBetween(reward, { from: between(reward, 0.5, 0.75), to: between(reward, 0.75, 1) }))
    )
      return undefined;
    const limit = leastShare * before;
    const at = entropy.values.findIndex((_, index) => entropy.values.slice(index).every((value) => value < 2 * limit));
    return {
      summary: `The samples of a task hardly differ any more: entropy fell from ${figure(before)} to ${figure(after)} nats, and the reward no longer rises${outcome === undefined ? '' : `, although ${describeOutcome(outcome)}`}.`,
      cure: `Lower ${setting('trainer_common.optim.lr', run.settings.rate)}, raise trainer_common.clip_ratio_high above clip_ratio_low, or set ${setting('trainer_common.entropy_coeff', run.settings.entropyCoefficient)} or trainer_common.use_kl_loss; raise ${setting('rollout.temperature', run.settings.temperature)}.`,
      ...(at > 0 && { since: entropy.steps[at] ?? 0 }),
      taken: 1 - after / before,
    };
  },
};
