import type { Cause } from '../cause.js';
import { changeBetween, rises } from '../figures/change.js';
import { between } from '../figures/series.js';
import { heldOutChange, isGood, trainingSuccess } from '../outcome.js';
import { figure } from '../words.js';

/** Growth by less is normal for a model that learns to reason. */
const leastGrowth = 2;
/** Longer answers do not pay if held-out success gains less than this each time that the length doubles. */
const leastGain = 0.05;

export const lengthDrift: Cause = {
  name: 'length_drift',
  needs: ['answer_tokens'],
  threshold: 'answers over twice as long as at the start, while success gains less than 0.05 per doubling',
  explains: ['cut_answers', 'hollow_reward', 'stopped_learning', 'no_spread', 'no_gain'],
  look(run) {
    const { answer_tokens: length } = run.figures;
    if (length === undefined || isGood(run)) return undefined;
    const change = changeBetween(length, { from: between(length, 0, 0.1), to: between(length, 0.9, 1) });
    if (change === undefined || !rises(change) || change.after < leastGrowth * change.before) return undefined;
    const gain = gainOf(run);
    if (gain === undefined || gain.difference >= leastGain * Math.log2(change.after / change.before)) return undefined;
    return {
      summary: `Answers grew from ${figure(change.before)} to ${figure(change.after)} tokens, while success on ${gain.on} went from ${figure(gain.before)} to ${figure(gain.after)}.`,
      cure: 'See whether the reward pays for length: read long answers with a high reward. Then take length out of the reward or let it cost something; trainer_common.loss_agg_mode and trainer_common.loss_weighting decide how much a long answer weighs.',
      episodes: longest(run),
      taken: 1 - change.before / change.after,
    };
  },
};

type Gain = { readonly before: number; readonly after: number; readonly difference: number; readonly on: string };

function gainOf(run: Parameters<Cause['look']>[0]): Gain | undefined {
  const heldOut = heldOutChange(run);
  if (heldOut !== undefined) return { ...heldOut, on: 'held-out tasks' };
  const [first, last] = [trainingSuccess(run, 0, 0.1), trainingSuccess(run, 0.9)];
  if (first === undefined || last === undefined) return undefined;
  return { before: first.rate, after: last.rate, difference: last.rate - first.rate, on: 'training tasks' };
}

function longest({ episodes = [] }: Parameters<Cause['look']>[0]): readonly string[] {
  const last = episodes.reduce((most, { step, phase }) => (phase === 'train' ? Math.max(most, step) : most), 0);
  return episodes
    .filter(({ step, phase }) => phase === 'train' && step === last)
    .toSorted((left, right) => right.tokens - left.tokens)
    .slice(0, 3)
    .map(({ id }) => id);
}
