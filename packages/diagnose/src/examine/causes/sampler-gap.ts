import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { figure } from '../words.js';

/** A quarter of the usual clip, log(1.2). Rounding, and weights of 8 bits that both use, stay below. */
const mostGap = 0.045;

export const samplerGap: Cause = {
  name: 'sampler_gap',
  needs: ['gap'],
  threshold:
    'a mean difference of 0.045 nats per token between sampler and trainer, a quarter of the clip, although both have the same weights',
  explains: [
    'temperature_too_high',
    'clipped_away',
    'collapsed',
    'no_gain',
    'stopped_learning',
    'gradient_spikes',
    'kl_drift',
    'lost_part',
    'swings',
    // A sampler that differs writes other answers than the model that is trained.
    'tools_refused',
    'tools_not_called',
    'format_not_met',
    'cut_answers',
    'length_drift',
    'never_solved',
    'no_spread',
    'lost_variety',
    'rate_too_low',
    'hollow_reward',
  ],
  look({ figures: { gap }, settings }) {
    if (gap === undefined || settings.trainsStale === true) return undefined;
    const typical = meanOf(between(gap, 0, 1).values);
    if (typical < mostGap) return undefined;
    return {
      asks: 'change',
      summary: `Sampler and trainer disagree about the tokens that were sampled: by ${figure(typical)} nats per token on average. With the same weights it is under 0.01.`,
      cure: 'See whether both use the same weights, chat template, precision (torch.dtype) and sampling settings (top_p 1, top_k -1). trainer_common.tis_cap corrects what remains.',
      taken: Math.min(1, typical),
    };
  },
};
