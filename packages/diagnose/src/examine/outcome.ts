import { rateDifference, wilsonInterval, type MeasuredRate, type Rate } from '@agentjet/core/success';
import type { ExaminedEvaluation, ExaminedRun } from './examined-run.js';
import { changeBetween, type FigureChange, rises } from './figures/change.js';
import { between, emptySeries, meanOf, noiseIn, toSeries, type FigureSeries } from './figures/series.js';

/** From this success on, a run counts as learned: what remains is a matter of tasks and not of training. */
const goodSuccess = 0.8;

export type MeasuredSuccess = Rate & { readonly on: 'held-out tasks' | 'training tasks' };

export const evaluationSeries = (evaluations: readonly ExaminedEvaluation[]): FigureSeries =>
  toSeries(
    evaluations,
    ({ step }) => step,
    ({ score }) => score,
  );

/** Whether the scores are shares, so that they can be compared with success. */
export const areShares = (evaluations: readonly ExaminedEvaluation[]): boolean =>
  evaluations.length > 0 && evaluations.every(({ score }) => score >= 0 && score <= 1);

/** Success at the end of the run, on held-out tasks if they were evaluated. Undefined if nothing says it. */
export function outcomeOf(run: ExaminedRun): MeasuredSuccess | undefined {
  const last = lastEvaluations(run);
  return last ?? trainingSuccess(run, 0.75);
}

/** Success on the training tasks between two shares of the run. Each group counts as one trial of the interval. */
export function trainingSuccess(run: ExaminedRun, from: number, to = 1): MeasuredSuccess | undefined {
  const { success } = run.figures;
  if (success === undefined || success.values.length === 0) return undefined;
  const stretch = between(success, from, to);
  const rate = meanOf(stretch.values);
  return { rate, ...wilsonInterval(rate, countGroups(run, stretch)), on: 'training tasks' };
}

/** The evaluations whose interval is known. */
export const evaluatedRates = ({ evaluations }: ExaminedRun): readonly MeasuredRate[] =>
  evaluations.flatMap((evaluation) => {
    const rate = ratedOf(evaluation);
    return rate === undefined ? [] : [{ step: evaluation.step, ...rate }];
  });

/** Success on the training tasks in each stretch of the run, by default tenths. Each group is one trial of the interval. */
export function trainingRates(run: ExaminedRun, count = 10): readonly (MeasuredRate & { readonly groups: number })[] {
  const { success } = run.figures;
  const stretches = Math.min(count, success?.values.length ?? 0);
  return Array.from({ length: stretches }, (_, at) => {
    const stretch = between(success ?? emptySeries, at / stretches, (at + 1) / stretches);
    const rate = meanOf(stretch.values);
    const groups = countGroups(run, stretch);
    return { step: stretch.steps.at(-1) ?? 0, rate, groups, ...wilsonInterval(rate, groups) };
  });
}

/** The number of groups in these steps. A step whose groups were not counted has one. */
export function countGroups({ groups }: ExaminedRun, { steps }: FigureSeries): number {
  const counts = new Map(groups.steps.map((step, at) => [step, groups.values[at] ?? 1]));
  return steps.reduce((sum, step) => sum + (counts.get(step) ?? 1), 0);
}

function lastEvaluations({ evaluations }: ExaminedRun): MeasuredSuccess | undefined {
  const last = evaluations.at(-1);
  if (last === undefined || !areShares(evaluations)) return undefined;
  const rated = ratedOf(last);
  if (rated !== undefined) return { ...rated, on: 'held-out tasks' };
  const series = evaluationSeries(evaluations);
  const stretch = between(series, 0.75, 1);
  const rate = meanOf(stretch.values);
  const margin = (1.96 * (noiseIn(series) ?? 0.5)) / Math.sqrt(stretch.values.length);
  return { rate, low: Math.max(0, rate - margin), high: Math.min(1, rate + margin), on: 'held-out tasks' };
}

/** The change of the held-out score from the first evaluation to the last ones. Undefined with fewer than two. */
export function heldOutChange({ evaluations }: ExaminedRun): FigureChange | undefined {
  const [first, last] = [evaluations[0], evaluations.at(-1)];
  if (first === undefined || last === undefined || first.step >= last.step) return undefined;
  const [before, after] = [ratedOf(first), ratedOf(last)];
  if (before !== undefined && after !== undefined)
    return { before: before.rate, after: after.rate, ...rateDifference(before, after) };
  const series = evaluationSeries(evaluations);
  return changeBetween(series, { from: between(series, 0, 0.01), to: between(series, 0.8, 1) });
}

/** The score with its interval, if it is known. */
const ratedOf = ({ score, low, high }: ExaminedEvaluation): Rate | undefined =>
  low === undefined || high === undefined ? undefined : { rate: score, low, high };

/** Whether the model became better by more than chance: on held-out tasks, or on training tasks if none were evaluated. */
export function hasGained(run: ExaminedRun): boolean {
  if (run.evaluations.length > 1) return rises(heldOutChange(run));
  const [first, last] = [trainingSuccess(run, 0, 0.2), trainingSuccess(run, 0.8)];
  return first !== undefined && last !== undefined && last.low > first.high;
}

export const isGood = (run: ExaminedRun): boolean => (outcomeOf(run)?.rate ?? 0) >= goodSuccess;
