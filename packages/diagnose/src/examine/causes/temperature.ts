import { formatRate } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { compareTokens, firstEpisodes, idsOf, trainingEpisodes } from '../episode-sets.js';
import { isGood, trainingSuccess } from '../outcome.js';
import { percent, setting } from '../words.js';

/** Below this difference of temperatures, another difference between the tasks explains the success as well. */
const leastDifference = 0.3;
/** A share of the success that is lost to the temperature at which the training samples. */
const mostShare = 0.5;
const leastGroups = 8;

export const temperatureTooHigh: Cause = {
  name: 'temperature_too_high',
  needs: ['success', 'evaluations'],
  threshold:
    'success in training under half of that of the last evaluation, which was cooler by 0.3 or more; 95% intervals apart',
  explains: [
    'never_solved',
    'no_spread',
    'no_gain',
    'stopped_learning',
    'cut_answers',
    'tools_refused',
    'format_not_met',
    'zero_gradients',
    'lost_variety',
  ],
  look(run) {
    const { temperature } = run.settings;
    const last = run.evaluations.at(-1);
    const trained = trainingSuccess(run, 0.75);
    if (temperature === undefined || last?.temperature === undefined || trained === undefined) return undefined;
    if (temperature - last.temperature < leastDifference) return undefined;
    const { low = 0, high = 1 } = last;
    if (trained.high >= low || trained.rate >= mostShare * last.score) return undefined;
    return {
      summary: `At temperature ${temperature} the model cannot show what it knows: success in training is ${formatRate(trained.rate, trained)}, and ${formatRate(last.score, { low, high })} on held-out tasks at temperature ${last.temperature}.`,
      cure: `Lower ${setting('rollout.temperature', temperature)}; ajet probe compares temperatures before a run.`,
      taken: 1 - trained.rate / last.score,
    };
  },
};

export const temperatureTooLow: Cause = {
  name: 'temperature_too_low',
  needs: ['episodes'],
  threshold:
    'in half of the groups all episodes have the same tokens, in the first step too, while success is below 0.8',
  explains: ['no_spread', 'zero_gradients', 'no_gain', 'stopped_learning', 'never_solved', 'lost_variety'],
  look(run) {
    if (isGood(run)) return undefined;
    const [first, all] = [compareTokens(firstEpisodes(run)), compareTokens(trainingEpisodes(run))];
    if (all.compared < leastGroups || first.share <= 0.5 || all.share <= 0.5) return undefined;
    return {
      summary: `The episodes of a group do not differ: in ${all.same.length} of ${all.compared} groups (${percent(all.share)}) all have the same tokens, before the first update already (${percent(first.share)}).`,
      cure: `Raise ${setting('rollout.temperature', run.settings.temperature)}; 0.7 to 1 is usual. See also rollout.top_p and rollout.top_k.`,
      episodes: idsOf(all.same),
      taken: all.share,
    };
  },
};
