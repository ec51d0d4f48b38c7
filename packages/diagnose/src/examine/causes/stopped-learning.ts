import type { Cause, Sighting } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises } from '../figures/change.js';
import { fitSlope } from '../figures/line.js';
import { between, noiseIn, since, type FigureSeries } from '../figures/series.js';
import { evaluatedRates, isGood, outcomeOf } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

/** The flat stretch has at least this share of the steps, and at least this many. */
const leastShare = 0.4;
const leastSteps = 8;
/** Over the flat stretch, a run that still learned at a fifth of its earlier pace would have been seen. */
const pace = 0.2;
/** A run that stopped below this success has most of its tasks still to learn. */
const lowSuccess = 0.4;

export const stoppedLearning: Cause = {
  name: 'stopped_learning',
  needs: ['reward'],
  threshold:
    'flat for 40% of the run: even the upper end of its 95% interval is under a fifth of the earlier pace; or held-out success rose by more than chance in the first 60% of the run, and no more after that',
  explains: ['no_gain', 'no_spread', 'zero_gradients'],
  look(run) {
    const series = run.figures.success ?? run.figures.reward;
    if (series === undefined || isGood(run)) return undefined;
    const flat = findFlat(series);
    if (flat === undefined) return stoppedBetweenEvaluations(run);
    return {
      summary: `The run stopped learning at step ${flat.step}: the reward rose from ${figure(flat.from)} to ${figure(flat.level)} before, and stayed there for the remaining ${flat.steps} steps.`,
      cure: cureOf(run),
      ...((outcomeOf(run)?.rate ?? 0) < lowSuccess && { asks: 'change' as const }),
      since: flat.step,
      taken: flat.steps / series.values.length,
    };
  },
};

/** The last evaluation that gained something is in this share of the run at the latest. */
const latestGain = 0.6;
/** A later evaluation that gains less has gained nothing. */
const leastLater = 0.05;

/** In a short run, the noise of the training hides a flat stretch, but evaluations may show it. */
function stoppedBetweenEvaluations(run: ExaminedRun): Sighting | undefined {
  const [first, ...later] = evaluatedRates(run);
  const best = first && later.find(({ step, low }) => step <= latestGain * run.steps && low > first.high);
  const after = later.filter(({ step }) => best !== undefined && step > best.step);
  if (first === undefined || best === undefined || after.length === 0) return undefined;
  const { success } = run.figures;
  const late = success && changeBetween(success, { from: between(success, 0.4, 0.7), to: between(success, 0.7, 1) });
  if (after.some(({ rate }) => rate > best.rate + leastLater) || rises(late)) return undefined;
  return {
    summary: `The run stopped learning at step ${best.step}: held-out success rose from ${figure(first.rate)} to ${figure(best.rate)} before, and is ${figure(after.at(-1)?.rate ?? 0)} at the end.`,
    cure: cureOf(run),
    since: best.step,
    taken: 0.1,
  };
}

const cureOf = ({ settings: { groupSize } }: ExaminedRun): string =>
  `See what the failing tasks share (ajet inspect). What helps most often: other or harder tasks, a larger group (${nameSetting('rollout.num_repeat', groupSize)}), a reward with more values, or the end of the run.`;

/** A smaller rise is not worth mentioning. */
const leastGain = (level: number, noise: number): number => Math.max(3 * noise, 0.03 * Math.abs(level));

type Flat = { readonly step: number; readonly steps: number; readonly from: number; readonly level: number };

/** The longest flat stretch at the end. Undefined if there is none, or nothing was learned before it. */
function findFlat(series: FigureSeries): Flat | undefined {
  const noise = noiseIn(series);
  if (noise === undefined) return undefined;
  for (let at = 0.05; at <= 1 - leastShare; at += 0.05) {
    const tail = between(series, at, 1);
    if (tail.values.length < leastSteps) return undefined;
    const head = between(series, 0, at);
    const gain = changeBetween(series, { from: between(series, 0, Math.min(at, 0.05)), to: tail, noise });
    const [start = 0, first = 0, last = 0] = [series.steps[0], tail.steps[0], tail.steps.at(-1)];
    const line = fitSlope(tail, noise);
    if (gain === undefined || line === undefined || !rises(gain) || gain.difference < leastGain(gain.after, noise))
      continue;
    const earlier = gain.difference / Math.max(1, first - start);
    if (line.high < pace * earlier && head.values.length > 0 && isLevel(tail, noise))
      return {
        step: first,
        steps: since(series, first).values.length,
        from: gain.before,
        level: gain.after,
        ...(last >= 0 && {}),
      };
  }
  return undefined;
}

/** Whether the two halves of the stretch have the same mean within their noise. */
function isLevel(tail: FigureSeries, noise: number): boolean {
  const change = changeBetween(tail, { from: between(tail, 0, 0.5), to: between(tail, 0.5, 1), noise });
  return change !== undefined && change.low <= 0;
}
