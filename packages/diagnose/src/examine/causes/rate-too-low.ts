import type { Cause } from '../cause.js';
import { groupEpisodes, episodeIds } from '../episode-sets.js';
import { meanOf } from '../figures/series.js';
import { heldOutChange, isGood } from '../outcome.js';
import { percent, nameSetting } from '../words.js';
import { isHot } from './temperature.js';

/** At temperature 0, an answer changes as soon as another token becomes the likeliest at one position. */
const leastSame = 0.6;
/** With fewer updates, even the right rate leaves many answers as they are. */
const manyUpdates = 8;
const leastSameOfFew = 0.8;
/** Full training usually has a rate from 1e-5 on. Rewards without a rule leave many answers as they are at such a rate. */
const usualRate = 1e-5;
const highRate = 1e-4;
const leastSameOfUsual = 0.8;
const leastSameOfHigh = 0.95;
/** Answers of so few tokens have little that could change. */
const fewTokens = 4;
const leastSameOfShort = 0.98;
/** A run whose steps mostly train nothing does not change either, and then the rate is not the reason. */
const leastTrained = 0.5;
const leastTasks = 10;

export const rateTooLow: Cause = {
  name: 'rate_too_low',
  needs: ['episodes', 'evaluations'],
  threshold:
    '60% of the held-out tasks are answered token by token as before the training, at temperature 0, although half of the steps had a gradient; 80% after fewer than 8 updates or at a rate from 1e-5 on, 95% from 1e-4 on, and 98% if the answers have up to 4 tokens',
  explains: ['no_gain', 'stopped_learning', 'never_solved', 'no_spread', 'one_kind', 'stragglers'],
  look(run) {
    const [first, last] = [run.evaluations[0], run.evaluations.at(-1)];
    if (first === undefined || last === undefined || first.step >= last.step || last.temperature !== 0 || isGood(run))
      return undefined;
    const change = heldOutChange(run);
    if (change !== undefined && change.low > 0) return undefined;
    const evaluated = (run.episodes ?? []).filter(({ phase, tokens }) => phase === 'evaluation' && tokens > 0);
    const byTask = [
      ...groupEpisodes(
        evaluated.filter(({ step }) => step === first.step || step === last.step),
        ({ task }) => task,
      ).values(),
    ];
    const pairs = byTask.flatMap((episodes) => {
      const [before, after] = [first, last].map(({ step }) => episodes.find((episode) => episode.step === step));
      return before === undefined || after === undefined ? [] : [{ before, after }];
    });
    const same = pairs.filter(({ before, after }) => before.tokensHash === after.tokensHash);
    if (pairs.length < leastTasks || !isTrained(run)) return undefined;
    if (same.length < leastSameOf(run) * pairs.length) return undefined;
    return {
      summary: `The training hardly changed the model: ${same.length} of ${pairs.length} held-out tasks (${percent(same.length / pairs.length)}) are answered token by token as before it.`,
      cure: `Raise ${nameSetting('trainer_common.optim.lr', run.settings.rate)}: begin with three times its value. With LoRA, 10 times the rate of full training is usual. If the rate is right, see whether groups have equal rewards.`,
      episodes: episodeIds(same.map(({ after }) => after)),
      ...(!isHot(run) && { explains: [...rateTooLow.explains, 'temperature_too_high'] }),
      taken: same.length / pairs.length,
    };
  },
};

type Run = Parameters<Cause['look']>[0];

/** Steps that changed the weights. */
const updatesOf = ({ figures: { grad_norm: norms } }: Run): number =>
  norms?.values.filter((value) => value > 0).length ?? 0;

function leastSameOf(run: Run): number {
  const { rate: rates, answer_tokens: tokens } = run.figures;
  const rate = Math.max(...(rates?.values ?? []), rates === undefined ? (run.settings.rate ?? 0) : 0);
  const few = updatesOf(run) < manyUpdates ? leastSameOfFew : leastSame;
  if (rate < usualRate) return few;
  if (meanOf(tokens?.values ?? [Infinity]) <= fewTokens) return leastSameOfShort;
  return rate < highRate ? leastSameOfUsual : leastSameOfHigh;
}

function isTrained(run: Run): boolean {
  const updates = updatesOf(run);
  return updates >= 5 && updates >= leastTrained * (run.figures.grad_norm?.values.length ?? 0);
}
