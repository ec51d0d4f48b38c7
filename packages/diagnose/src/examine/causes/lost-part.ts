import { findLoss, formatChange, formatRate, type MeasuredRate, type TaskScore } from '@agentjet/core/success';
import { hasCollapsed } from '../../limits.js';
import type { Cause } from '../cause.js';
import { groupEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { areShares, evaluatedRates } from '../outcome.js';
import { nameSetting } from '../words.js';

export const lostPart: Cause = {
  name: 'lost_part',
  needs: ['evaluations'],
  threshold:
    'held-out success fell by 0.1 or more from the best evaluation to the last one, by more than chance, and is still over half of the best; no change is asked for if three quarters are left, and clearly more than at the start',
  explains: ['stopped_learning', 'no_gain', 'no_spread', 'zero_gradients'],
  look(run) {
    const loss = areShares(run.evaluations) ? findLoss(evaluatedRates(run), (step) => scoresAt(run, step)) : undefined;
    if (loss === undefined) return undefined;
    const { best, last, change } = loss;
    if (hasCollapsed(last.rate, best.rate)) return undefined; // `collapsed` says so
    return {
      asks: keepsMost(run, last, best) ? 'nothing' : 'change',
      summary: `The model lost part of what it had learned: held-out success was ${formatRate(best.rate, best)} at step ${best.step} and is ${formatRate(last.rate, last)} at step ${last.step}, a change of ${formatChange(change)}.`,
      cure: `Use the checkpoint near step ${best.step}; trainer_common.keep_best: success_rate keeps it. Then lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)}${run.settings.usesKl === true ? '' : ', or set trainer_common.use_kl_loss'}, or end the run there.`,
      episodes: newlyFailed(run, best.step, last.step),
      since: best.step,
      taken: 1 - last.rate / best.rate,
    };
  },
};

/** A run that ends with this share of its best success, and with more than it began with, has kept most of its gain. */
const mostKept = 0.75;

function keepsMost(run: ExaminedRun, last: MeasuredRate, best: MeasuredRate): boolean {
  const [first] = evaluatedRates(run);
  return first !== undefined && last.low > first.high && last.rate >= mostKept * best.rate;
}

const evaluated = ({ episodes = [] }: ExaminedRun, at: number) =>
  episodes.filter(({ phase, step }) => phase === 'evaluation' && step === at);

function scoresAt(run: ExaminedRun, at: number): ReadonlyMap<string, TaskScore> {
  const scored = evaluated(run, at).filter(({ error }) => error?.outage !== true);
  const byTask = groupEpisodes(scored, ({ task }) => task);
  return new Map(
    [...byTask].map(([task, own]) => [
      task,
      { successes: own.filter(({ success }) => success).length, trials: own.length },
    ]),
  );
}

/** Failures of the last evaluation at tasks that the best one solved. */
function newlyFailed(run: ExaminedRun, best: number, last: number): readonly string[] {
  const solved = new Set(evaluated(run, best).flatMap(({ task, success }) => (success ? [task] : [])));
  return evaluated(run, last).flatMap(({ id, task, success }) => (!success && solved.has(task) ? [id] : []));
}
