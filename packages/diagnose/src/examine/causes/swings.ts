import type { MeasuredRate } from '@agentjet/core/success';
import type { Cause, Sighting } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { areShares, evaluatedRates, trainingRates } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

export const swings: Cause = {
  name: 'swings',
  needs: ['any success'],
  threshold:
    'success falls twice from a peak to a low, each time by more than the 95% intervals of both, and recovers half of the fall in between',
  explains: [
    'stopped_learning',
    'no_gain',
    'no_spread',
    'collapsed',
    'lost_part',
    'lost_variety',
    'zero_gradients',
    'hollow_reward',
  ],
  look(run) {
    if (run.evaluations.length > 0 && !areShares(run.evaluations)) return undefined;
    const trained = run.episodes === undefined ? [] : stretchCounts.map((count) => trainingRates(run, count));
    return [
      swingsIn(evaluatedRates(run), 'Held-out success', run),
      ...trained.map((levels) => swingsIn(levels, 'Success in training', run)),
    ].find((found) => found !== undefined);
  },
};

/** A swing must not be much shorter than the stretches that are compared, nor begin in the middle of them. */
const stretchCounts = [10, 8, 6];

function swingsIn(levels: readonly MeasuredRate[], on: string, run: ExaminedRun): Sighting | undefined {
  const falls = findFalls(levels);
  const [first] = falls;
  if (first === undefined || falls.length < 2) return undefined;
  const deepest = Math.max(...falls.map(({ peak, low }) => peak.rate - low.rate));
  return {
    summary: `${on} swings: it fell ${falls.length} times by more than chance, by up to ${figure(deepest)} (first from ${figure(first.peak.rate)} at step ${first.peak.step} to ${figure(first.low.rate)} at step ${first.low.step}).`,
    cure: `Lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)} or raise data.train_batch_size. trainer_common.keep_best: success_rate keeps the best checkpoint.`,
    since: first.peak.step,
    taken: deepest,
  };
}

type Fall = { readonly peak: MeasuredRate; readonly low: MeasuredRate };

/** Falls with a recovery between them. A fall may take several levels. */
function findFalls(levels: readonly MeasuredRate[]): readonly Fall[] {
  const falls: Fall[] = [];
  let [peak, fall] = [levels[0], undefined as Fall | undefined];
  for (const level of levels) {
    if (fall !== undefined && level.rate <= fall.low.rate) fall = { ...fall, low: level };
    else if (fall !== undefined && level.rate >= (fall.peak.rate + fall.low.rate) / 2) {
      falls.push(fall);
      [peak, fall] = [level, undefined];
    } else if (fall === undefined && peak !== undefined) {
      if (level.rate > peak.rate) peak = level;
      else if (level.high < peak.low) fall = { peak, low: level };
    }
  }
  return fall === undefined ? falls : [...falls, fall];
}
