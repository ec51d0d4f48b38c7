import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { percent, nameSetting } from '../words.js';

/** A token beyond the clip has no gradient, so this share of the update is thrown away. */
const mostShare = 0.2;

export const clippedAway: Cause = {
  name: 'clipped_away',
  needs: ['clipped'],
  threshold: 'a fifth of the tokens in the last quarter of the run: a token beyond the clip has no gradient',
  // A token without a gradient does not move, so the clip is also why a model hardly changes.
  explains: ['collapsed', 'lost_variety', 'rate_too_low', 'stopped_learning', 'no_gain'],
  look({ figures: { clipped }, settings }) {
    if (clipped === undefined) return undefined;
    const late = between(clipped, 0.75, 1);
    const share = meanOf(late.values);
    if (share < mostShare) return undefined;
    return {
      asks: 'change',
      summary: `The clip removed the gradient of ${percent(share)} of the tokens since step ${late.steps[0]}; it was ${percent(meanOf(between(clipped, 0, 0.1).values))} at the start.`,
      cure: `Lower ${nameSetting('trainer_common.optim.lr', settings.rate)}, make fewer optimizer steps on the same samples (trainer_common.mini_batch_num, trainer_common.ppo_epochs, trainer_common.max_staleness), or raise trainer_common.clip_ratio_high.`,
      taken: share,
    };
  },
};
