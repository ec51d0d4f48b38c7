import { leastAnswers, leastCut } from '../../limits.js';
import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { percent, nameSetting } from '../words.js';

/** With this share or more, cut answers slow down even a run that learns. */
const alwaysShare = 0.2;

export const manyCutAnswers: Cause = {
  name: 'cut_answers',
  needs: ['cut'],
  threshold: '5% of the answers in the last quarter of the run: each is rewarded as an unfinished answer',
  explains: [
    'never_solved',
    'format_not_met',
    'tools_not_called',
    'tools_refused',
    'temperature_too_low',
    'rate_too_low',
    'lost_variety',
    'no_spread',
    'zero_gradients',
    'hollow_reward',
    'stopped_learning',
    'no_gain',
  ],
  explainsFrom: 0.25,
  look({ figures: { cut }, episodes, settings }) {
    if (cut === undefined) return undefined;
    const late = between(cut, 0.75, 1);
    const share = meanOf(late.values);
    if (share < leastCut) return undefined;
    const [first = 0] = late.steps;
    const recent = episodes?.filter(({ phase, step }) => phase === 'train' && step >= first) ?? [];
    if (recent.length > 0 && recent.reduce((sum, { answers }) => sum + answers, 0) < leastAnswers) return undefined;
    const affected = recent.filter((episode) => episode.cut > 0);
    return {
      summary: `${percent(share)} of the answers since step ${first} were cut at a token limit, so the agent got them unfinished.`,
      cure: `Raise ${nameSetting('rollout.max_response_length_in_one_turn', settings.answerLimit)}, or ${nameSetting('rollout.max_model_len', settings.contextLimit)} if long prompts leave no room, or the agent's own max_tokens; or ask for shorter answers.`,
      episodes: affected.map(({ id }) => id),
      since: first,
      ...(share >= alwaysShare && { asks: 'change' as const }),
      // Of several answers of an episode, one that is cut is enough to spoil it.
      taken: Math.max(share, affected.length / Math.max(1, recent.length)),
    };
  },
};
