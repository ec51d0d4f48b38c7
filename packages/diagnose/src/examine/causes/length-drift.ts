import type { Cause } from '../cause.js';
import { paysForLength } from '../episode-sets.js';
import { changeBetween, type FigureChange } from '../figures/change.js';
import { between } from '../figures/series.js';
import { heldOutChange, isGood, trainingSuccess } from '../outcome.js';
import { figure } from '../words.js';

/** Growth by less is normal for a model that learns to reason. */
const leastGrowth = 1.6;
/** Answers of another length do not pay if held-out success gains less than this each time that it doubles or halves. */
const leastGain = 0.05;

export const lengthDrift: Cause = {
  name: 'length_drift',
  needs: ['answer_tokens'],
  threshold:
    'answers over 1.6 times as long as at the start, or under half as long, while success gains less than 0.05 per doubling or halving',
  explains: ['cut_answers', 'hollow_reward', 'stopped_learning', 'no_spread', 'lost_part', 'no_gain'],
  look(run) {
    const { answer_tokens: length } = run.figures;
    if (length === undefined || isGood(run)) return undefined;
    const change = changeBetween(length, { from: between(length, 0, 0.1), to: between(length, 0.9, 1) });
    if (change === undefined || !hasDrifted(change)) return undefined;
    const factor = Math.max(change.after / change.before, change.before / change.after);
    const grew = change.after > change.before;
    const gain = gainOf(run);
    if (gain === undefined || gain.difference >= leastGain * Math.log2(factor)) return undefined;
    return {
      summary: `Answers ${grew ? 'grew' : 'shrank'} from ${figure(change.before)} to ${figure(change.after)} tokens, while success on ${gain.on} went from ${figure(gain.before)} to ${figure(gain.after)}.`,
      cure: 'See whether the reward pays for length: read long answers with a high reward. Then take length out of the reward or let it cost something; trainer_common.loss_agg_mode and trainer_common.loss_weighting decide how much a long answer weighs.',
      episodes: longest(run, grew),
      // If the reward does not pay for length, the drift follows from what it pays for.
      ...(!paysForLength(run) && { explains: ['cut_answers', 'no_gain'] }),
      taken: (paysForLength(run) ? 1 : unpaid) * (1 - 1 / factor),
    };
  },
};

/** A drift that nothing pays for is a sign of another cause, which ranks first if it is found. */
const unpaid = 0.3;

type Gain = { readonly before: number; readonly after: number; readonly difference: number; readonly on: string };

function gainOf(run: Parameters<Cause['look']>[0]): Gain | undefined {
  const heldOut = heldOutChange(run);
  if (heldOut !== undefined) return { ...heldOut, on: 'held-out tasks' };
  const [first, last] = [trainingSuccess(run, 0, 0.1), trainingSuccess(run, 0.9)];
  if (first === undefined || last === undefined) return undefined;
  return { before: first.rate, after: last.rate, difference: last.rate - first.rate, on: 'training tasks' };
}

/** Shorter answers are normal for a model that learns, so they must be much shorter. */
const mostShrunk = 0.5;

const hasDrifted = ({ before, after, low, high }: FigureChange): boolean =>
  (low > 0 && after >= leastGrowth * before) || (high < 0 && after <= mostShrunk * before);

function longest({ episodes = [] }: Parameters<Cause['look']>[0], grew: boolean): readonly string[] {
  const last = episodes.reduce((most, { step, phase }) => (phase === 'train' ? Math.max(most, step) : most), 0);
  return episodes
    .filter(({ step, phase }) => phase === 'train' && step === last)
    .toSorted((left, right) => (grew ? right.tokens - left.tokens : left.tokens - right.tokens))
    .slice(0, 3)
    .map(({ id }) => id);
}
