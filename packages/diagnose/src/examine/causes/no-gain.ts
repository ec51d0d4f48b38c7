import { formatChange, rateDifference, type RateDifference } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { heldOutChange, isGood, trainingSuccess } from '../outcome.js';
import { figure } from '../words.js';

export const noGain: Cause = {
  name: 'no_gain',
  needs: ['any success'],
  threshold:
    'the 95% interval of the change between the first and the last evaluation contains 0; without evaluations, that between the first and the last quarter of the training',
  explains: [],
  look(run) {
    const change = changeOf(run);
    if (change === undefined || isGood(run) || change.low > 0 || change.high < 0) return undefined;
    return {
      summary: `${change.on} did not change by more than chance: ${figure(change.before)} at step ${change.first}, ${figure(change.after)} at step ${change.last}, a change of ${formatChange(change)}.`,
      cure: `Train longer, or evaluate on more tasks: with four times as many, a change of ${figure(Math.abs(change.high - change.low) / 4)} can be seen.`,
      taken: 0.05,
    };
  },
};

type Change = RateDifference &
  Readonly<Record<'before' | 'after' | 'first' | 'last', number>> & { readonly on: string };

function changeOf(run: ExaminedRun): Change | undefined {
  const heldOut = heldOutChange(run);
  const [first = 0, last = 0] = [run.evaluations[0]?.step, run.evaluations.at(-1)?.step];
  if (heldOut !== undefined) return { ...heldOut, first, last, on: 'Held-out success' };
  return run.evaluations.length > 1 || run.episodes === undefined ? undefined : trainingChange(run);
}

/** In fewer steps, a model cannot be expected to learn. A run that ends so early has another reason. */
const leastSteps = 5;

function trainingChange(run: ExaminedRun): Change | undefined {
  const [before, after] = [trainingSuccess(run, 0, 0.25), trainingSuccess(run, 0.75)];
  const steps = run.figures.success?.steps ?? [];
  if (before === undefined || after === undefined || steps.length < leastSteps) return undefined;
  return {
    before: before.rate,
    after: after.rate,
    ...rateDifference(before, after),
    first: steps[0] ?? 0,
    last: steps.at(-1) ?? 0,
    on: 'Success in training',
  };
}
