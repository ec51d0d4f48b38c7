import type { Cause } from '../cause.js';
import { fitSlope } from '../figures/line.js';
import { between, mean, noiseOf, type Series } from '../figures/series.js';
import { isGood } from '../outcome.js';
import { percent } from '../words.js';

/** With this share of the spread, the order of the episodes is that of one part. */
const leastShare = 0.8;
const leastSteps = 20;

export const onePart: Cause = {
  name: 'one_part',
  needs: ['reward', 'parts'],
  threshold:
    'one part explains 80% of how the reward differs from step to step, has stopped rising, and another part that still rises or never paid explains under 10%',
  explains: ['no_gain', 'stopped_learning', 'hollow_reward'],
  look(run) {
    const { reward } = run.figures;
    if (reward === undefined || reward.values.length < leastSteps || run.parts.size < 2 || isGood(run))
      return undefined;
    const rated = [...run.parts].map(([name, series]) => ({ name, series, share: explained(series, reward) }));
    const [owner] = rated.toSorted((left, right) => right.share - left.share);
    if (owner === undefined || owner.share < leastShare || isRising(owner.series)) return undefined;
    const mute = rated.find(
      ({ series, share }) => share < 0.1 && (isRising(series) || hasNeverPaid(series, owner.series)),
    );
    if (mute === undefined) return undefined;
    return {
      summary: `The part "${owner.name}" owns ${percent(owner.share)} of the spread of the reward and no longer rises, so the model trains on its noise. The part "${mute.name}" owns ${percent(mute.share)}.`,
      cure: `Give "${mute.name}" more weight and "${owner.name}" less (task_judge.combined.parts), or make "${owner.name}" a condition instead of a part (task_judge.combined.gates).`,
      taken: owner.share,
    };
  },
};

/**
 * The share of the variance of the reward's steps that a part explains. Differences between steps are compared, so
 * that two parts that both rise are not taken for one.
 */
function explained(part: Series, reward: Series): number {
  const byStep = new Map(part.steps.map((step, at) => [step, part.values[at] ?? 0]));
  const pairs = reward.steps.flatMap((step, at) => {
    const value = byStep.get(step);
    return value === undefined ? [] : [{ part: value, reward: reward.values[at] ?? 0 }];
  });
  const late = pairs.slice(Math.floor(pairs.length / 4));
  const steps = late.slice(1).map((pair, at) => ({
    part: pair.part - (late[at]?.part ?? 0),
    reward: pair.reward - (late[at]?.reward ?? 0),
  }));
  const sum = (valueOf: (step: { part: number; reward: number }) => number): number =>
    steps.reduce((total, each) => total + valueOf(each), 0);
  const [both, ofPart, ofReward] = [
    sum((each) => each.part * each.reward),
    sum((each) => each.part ** 2),
    sum((each) => each.reward ** 2),
  ];
  return ofPart === 0 || ofReward === 0 ? 0 : both ** 2 / (ofPart * ofReward);
}

/** Whether the last half of the series rises beyond its noise, by more than a tenth of its level. */
function isRising(series: Series): boolean {
  const half = between(series, 0.4, 1);
  const line = fitSlope(half, noiseOf(half));
  const length = (half.steps.at(-1) ?? 0) - (half.steps[0] ?? 0);
  return line !== undefined && line.low > 0 && line.slope * length > 0.1 * Math.abs(mean(half.values));
}

const hasNeverPaid = (part: Series, owner: Series): boolean =>
  mean(part.values) < 0.02 * Math.max(...owner.values.map(Math.abs));
