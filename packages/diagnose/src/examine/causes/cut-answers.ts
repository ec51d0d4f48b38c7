import { leastAnswers, leastCut } from '../../limits.js';
import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { between, meanOf } from '../figures/series.js';
import { evaluatedRates } from '../outcome.js';
import { percent } from '../words.js';
import { cureOfCutAnswers } from '../../cures.js';

/** With this share or more, cut answers slow down even a run that learns a little. */
const alwaysShare = 0.2;
/** A run that gets this far in spite of cut answers does not need their ends. */
const enoughSuccess = 0.5;

export const manyCutAnswers: Cause = {
  name: 'cut_answers',
  needs: ['cut'],
  threshold:
    '5% of the answers in the last quarter of the run, which are rewarded as unfinished answers, or 5% of the episodes whose history did not fit into the context',
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
  look(run) {
    const { cut } = run.figures;
    if (cut === undefined) return undefined;
    const late = between(cut, 0.75, 1);
    const share = meanOf(late.values);
    const [first = 0] = late.steps;
    const recent = run.episodes?.filter(({ phase, step }) => phase === 'train' && step >= first) ?? [];
    const overflow = recent.filter(({ error }) => error?.code === 'context_overflow');
    if (share < leastCut && overflow.length <= leastCut * recent.length) return undefined;
    const answers = recent.reduce((sum, each) => sum + each.answers, 0);
    if (recent.length > 0 && overflow.length === 0 && answers < leastAnswers) return undefined;
    const affected = recent.filter((episode) => episode.cut > 0 || overflow.includes(episode));
    const failed = recent.filter(({ status }) => status === 'failed');
    return {
      summary: `${percent(share)} of the answers since step ${first} were cut at a token limit, so the agent got them unfinished.${sayOverflow(overflow.length, recent.length)}`,
      cure: cureOfCutAnswers(run.settings),
      episodes: affected.map(({ id }) => id),
      since: first,
      ...((share >= alwaysShare || learnsAnyway(run)) && { asks: learnsAnyway(run) ? 'nothing' : 'change' }),
      ...(overflow.length > failed.length / 2 && { explains: [...manyCutAnswers.explains, 'failed_episodes'] }),
      // Of several answers of an episode, one that is cut is enough to spoil it.
      taken: Math.max(share, affected.length / Math.max(1, recent.length)),
    };
  },
};

/** Whether held-out success clearly rose, solves half of the tasks, and is still the best of the run. */
function learnsAnyway(run: ExaminedRun): boolean {
  const rates = evaluatedRates(run);
  const [first, last] = [rates[0], rates.at(-1)];
  if (first === undefined || last === undefined || last.low <= first.high) return false;
  return last.rate >= enoughSuccess && rates.every(({ rate }) => rate <= last.high);
}

const sayOverflow = (count: number, episodes: number): string =>
  count === 0 ? '' : ` ${count} of ${episodes} episodes failed because their history did not fit into the context.`;
