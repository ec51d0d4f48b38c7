import { mean } from './quantities.js';

/**
 * 95% intervals of success rates. Two episodes of one task resemble each other, so they say less about the model than
 * two episodes of different tasks. The intervals therefore take the scores by task.
 */

export type Interval = { readonly low: number; readonly high: number };

/** The episodes of one task, or any other trials that resemble each other. */
export type TaskScore = { readonly successes: number; readonly trials: number };

export type RateDifference = Interval & { readonly difference: number };

/** A success rate with its 95% interval. */
export type Rate = Interval & { readonly rate: number };

/** The quantile of the normal distribution that leaves 2.5% on each side. */
const z = 1.959963984540054;

/**
 * The 95% interval of a share of independent trials (Wilson, 1927). It is the whole range 0..1 if there are no trials.
 * `trials` may be a fraction: see `successInterval`.
 */
export function wilsonInterval(rate: number, trials: number): Interval {
  if (trials <= 0) return { low: 0, high: 1 };
  const center = rate + z ** 2 / (2 * trials);
  const margin = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  const scale = 1 + z ** 2 / trials;
  return {
    low: rate <= 0 ? 0 : Math.max(0, (center - margin) / scale),
    high: rate >= 1 ? 1 : Math.min(1, (center + margin) / scale),
  };
}

/** The share of all trials that succeeded; 0 if there are none. */
export function successRate(scores: readonly TaskScore[]): number {
  const { successes, trials } = addUp(scores);
  return trials === 0 ? 0 : successes / trials;
}

/**
 * The 95% interval of a success rate: Wilson's, with the number of independent trials that would vary as much as the
 * rates of the tasks do. This number is at least the number of tasks and at most the number of trials.
 */
export function successInterval(scores: readonly TaskScore[]): Interval {
  const tried = scores.filter(({ trials }) => trials > 0);
  return wilsonInterval(successRate(tried), countIndependent(tried));
}

/**
 * The change of the success rate from `before` to `after`, on the same tasks in the same order, with its 95% interval
 * (Newcombe, 1998, method 10). The interval is narrower than for different tasks if the same tasks succeed in both.
 * A task without trials on one side is left out.
 */
export function pairedDifference(before: readonly TaskScore[], after: readonly TaskScore[]): RateDifference {
  const pairs = before.flatMap((earlier, at) => {
    const later = after[at];
    return later !== undefined && earlier.trials > 0 && later.trials > 0 ? [{ earlier, later }] : [];
  });
  if (pairs.length === 0) return { difference: 0, low: -1, high: 1 };
  const [earlier, later] = [pairs.map((pair) => pair.earlier), pairs.map((pair) => pair.later)];
  const [rateBefore, rateAfter] = [successRate(earlier), successRate(later)];
  const [ofBefore, ofAfter] = [successInterval(earlier), successInterval(later)];
  const correlation = correlate(earlier, later);
  const margin = (one: number, other: number): number =>
    Math.sqrt(Math.max(0, one ** 2 - 2 * correlation * one * other + other ** 2));
  const difference = rateAfter - rateBefore;
  return {
    difference,
    low: Math.max(-1, difference - margin(rateAfter - ofAfter.low, ofBefore.high - rateBefore)),
    high: Math.min(1, difference + margin(ofAfter.high - rateAfter, rateBefore - ofBefore.low)),
  };
}

/** The change between the rates of different trials, with its 95% interval (Newcombe, 1998, method 10). */
export function rateDifference(before: Rate, after: Rate): RateDifference {
  const difference = after.rate - before.rate;
  return {
    difference,
    low: difference - Math.hypot(after.rate - after.low, before.high - before.rate),
    high: difference + Math.hypot(after.high - after.rate, before.rate - before.low),
  };
}

/** A success rate that was measured after a step. */
export type MeasuredRate = Rate & { readonly step: number };

/** What a run lost between its best and its last evaluation. */
export type SuccessLoss<Measured extends MeasuredRate = MeasuredRate> = {
  readonly best: Measured;
  readonly last: Measured;
  readonly change: RateDifference;
};

/** A smaller loss is not reported, because the best of many evaluations is partly luck. */
const leastLoss = 0.1;

/**
 * Finds out if the last evaluation is clearly worse than the best one: by 0.1 or more, and by more than chance. The
 * intervals of the two are apart, or the interval of their change, paired by task, is below 0. `scoresAt` returns the
 * scores of an evaluation by task, if they are known.
 */
export function findLoss<Measured extends MeasuredRate>(
  evaluations: readonly Measured[],
  scoresAt: (step: number) => ReadonlyMap<string, TaskScore> | undefined = () => undefined,
): SuccessLoss<Measured> | undefined {
  const last = evaluations.at(-1);
  const best = evaluations.reduce<Measured | undefined>(
    (highest, each) => (highest === undefined || each.rate > highest.rate ? each : highest),
    undefined,
  );
  if (last === undefined || best === undefined || best.rate - last.rate < leastLoss) return undefined;
  if (last.high < best.low) return { best, last, change: rateDifference(best, last) };
  const [before, after] = [scoresAt(best.step), scoresAt(last.step)];
  if (before === undefined || after === undefined) return undefined;
  const tasks = [...before.keys()].filter((task) => after.has(task));
  const scoresOf = (scores: ReadonlyMap<string, TaskScore>): readonly TaskScore[] =>
    tasks.flatMap((task) => scores.get(task) ?? []);
  const paired = pairedDifference(scoresOf(before), scoresOf(after));
  return paired.high < 0 ? { best, last, change: paired } : undefined;
}

/** The success rate of these scores with its 95% interval. */
export const rateOf = (scores: readonly TaskScore[]): Rate => ({
  rate: successRate(scores),
  ...successInterval(scores),
});

/** The same, or null if there are no trials. */
export const toRate = (scores: readonly TaskScore[]): Rate | null =>
  scores.some(({ trials }) => trials > 0) ? rateOf(scores) : null;

/**
 * The chance that the episodes of a group do not all succeed or all fail, if each succeeds with the chance `rate`. Only
 * such a group trains if rewards are 0 and 1.
 */
export function chanceOfMixedGroup(rate: number, numRepeat: number): number {
  return 1 - rate ** numRepeat - (1 - rate) ** numRepeat;
}

/** "0.540 (95% 0.404-0.670)": formats a share with its interval for people. */
export function formatRate(rate: number, { low, high }: Interval): string {
  return `${rate.toFixed(3)} (95% ${low.toFixed(3)}-${high.toFixed(3)})`;
}

/** "+0.240 (95% 0.100 to 0.360)": formats a change of a share for people, and says if it may be chance. */
export function formatChange({ difference, low, high }: RateDifference): string {
  const signed = `${difference < 0 ? '' : '+'}${difference.toFixed(3)}`;
  const noise = low <= 0 && high >= 0 ? ', within noise' : '';
  return `${signed} (95% ${low.toFixed(3)} to ${high.toFixed(3)}${noise})`;
}

function addUp(scores: readonly TaskScore[]): TaskScore {
  return scores.reduce(
    (sum, { successes, trials }) => ({ successes: sum.successes + successes, trials: sum.trials + trials }),
    { successes: 0, trials: 0 },
  );
}

/** The number of independent trials whose share would have the variance of this rate, a ratio of sums over tasks. */
function countIndependent(scores: readonly TaskScore[]): number {
  const { trials } = addUp(scores);
  const numTasks = scores.length;
  if (numTasks < 2 || trials === numTasks) return Math.min(numTasks, trials);
  const rate = successRate(scores);
  const squares = scores.reduce((sum, score) => sum + (score.successes - rate * score.trials) ** 2, 0);
  const variance = (numTasks / (numTasks - 1)) * (squares / trials ** 2);
  if (variance === 0) return numTasks;
  return Math.min(trials, Math.max(numTasks, (rate * (1 - rate)) / variance));
}

/**
 * The correlation of the tasks' rates, with Newcombe's correction for continuity, which makes positive correlations
 * smaller. 0 if all rates of one side are equal.
 */
function correlate(before: readonly TaskScore[], after: readonly TaskScore[]): number {
  const [ofBefore, ofAfter] = [deviations(before), deviations(after)];
  const covariance = mean(ofBefore.map((value, at) => value * (ofAfter[at] ?? 0)));
  const spread = Math.sqrt(mean(ofBefore.map((value) => value ** 2)) * mean(ofAfter.map((value) => value ** 2)));
  if (spread === 0) return 0;
  const corrected = covariance > 0 ? Math.max(0, covariance - 1 / (2 * before.length)) : covariance;
  return Math.max(-1, corrected / spread);
}

function deviations(scores: readonly TaskScore[]): readonly number[] {
  const rates = scores.map(({ successes, trials }) => successes / trials);
  const middle = mean(rates);
  return rates.map((rate) => rate - middle);
}
