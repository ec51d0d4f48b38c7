import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { isGood } from '../outcome.js';
import { percent } from '../words.js';

export const zeroGradients: Cause = {
  name: 'zero_gradients',
  needs: ['grad_norm'],
  threshold: 'the gradient is exactly 0 in over half of the steps of the last half of the run',
  explains: ['stopped_learning', 'no_gain'],
  look(run) {
    const { grad_norm: norms, equal_groups: equal } = run.figures;
    if (norms === undefined || isGood(run)) return undefined;
    const late = between(norms, 0.5, 1);
    const share = late.values.filter((value) => value === 0).length / late.values.length;
    if (late.values.length < 3 || share <= 0.5) return undefined;
    const why =
      equal === undefined
        ? 'The rewards of each group are probably equal.'
        : `${percent(meanOf(between(equal, 0.5, 1).values))} of the groups have equal rewards.`;
    return {
      summary: `${percent(share)} of the steps since step ${late.steps[0]} had a gradient of exactly 0, so they changed nothing. ${why}`,
      cure: 'See the findings about groups and rewards. If there are none, see whether the samples reach the trainer: data.overlong_sample_policy and trainable_targets.',
      taken: share,
    };
  },
};
