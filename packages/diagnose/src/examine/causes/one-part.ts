import type { Cause, Sighting } from '../cause.js';
import {
  centered,
  comparePreference,
  explainedShare,
  groupEpisodes,
  groupsOf,
  type Preference,
  episodeIds,
  leastCompared,
  prefersNothing,
  trainingEpisodes,
} from '../episode-sets.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { fitSlope } from '../figures/line.js';
import { between, emptySeries, meanOf, noiseIn, type FigureSeries } from '../figures/series.js';
import { hasGained, isGood } from '../outcome.js';
import { percent } from '../words.js';

/** A part with this share of the spread decides the order of the episodes alone. */
const leastShare = 0.8;
/** If too few groups have a success, a part with this share is enough. */
const aloneShare = 0.85;
const manyCompared = 16;
/** A part that prefers the success in more of these groups may be the one that matters. */
const mostAgreeing = 0.85;
const leastSteps = 20;
/** A part whose differences are this many times those of the part that means success leaves nothing of it. */
const leastRatio = 20;
/** A part that prefers the success in this share of the groups means success. */
const meansSuccess = 0.95;

export const onePart: Cause = {
  name: 'one_part',
  needs: ['parts'],
  threshold:
    'within groups, one part explains 80% of the differences of the reward. In addition, it is higher for successes in under three quarters of the groups, or another part never paid, or its differences are 20 times those of the part that means success and the run gained nothing. With metrics alone: one part explains 80% of the changes from step to step and no longer rises, and another part, which still rises or never paid, explains under 10%',
  explains: [
    'no_gain',
    'stopped_learning',
    'hollow_reward',
    'lost_part',
    'length_drift',
    'lost_variety',
    'never_solved',
    'no_spread',
    'rate_too_low',
  ],
  look(run) {
    if (run.episodes !== undefined) return ownerInGroups(run);
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
    return sight(owner, mute.name, { what: 'no longer rises, so the model trains on its noise' });
  },
};

type Rated = {
  readonly name: string;
  /** Of the differences of the reward. */
  readonly share: number;
  /** The standard deviation within groups. */
  readonly spread: number;
  readonly preference: Preference;
};

function rateParts(run: ExaminedRun, groups: readonly (readonly EpisodeOf[])[]): readonly Rated[] {
  const reward = centered(groups, (each) => each.reward ?? 0);
  const rated = [...run.parts.keys()].map((name) => {
    const partOf = ({ parts }: EpisodeOf): number => parts[name] ?? 0;
    const values = centered(groups, partOf);
    return {
      name,
      share: explainedShare(values, reward),
      spread: Math.sqrt(meanOf(values.map((value) => value ** 2))),
      preference: comparePreference(groups, partOf),
    };
  });
  return rated.toSorted((left, right) => right.share - left.share);
}

/** Within a group, the part decides which episode is better than another one, and it is not the part that means success. */
function ownerInGroups(run: ExaminedRun): Sighting | undefined {
  if (run.parts.size < 2 || isGood(run)) return undefined;
  const [owner, ...others] = rateParts(run, groupsOf(trainingEpisodes(run)));
  const mute = others.toSorted((left, right) => right.preference.agreeing - left.preference.agreeing)[0];
  if (owner === undefined || mute === undefined || owner.share < leastShare) return undefined;
  const { compared, agreeing } = owner.preference;
  const [ofOwner, ofMute] = [run.parts.get(owner.name) ?? emptySeries, run.parts.get(mute.name) ?? emptySeries];
  const neverPaid = hasNeverPaid(ofMute, ofOwner);
  const isAlone = owner.share >= aloneShare && mute.share < 1 - aloneShare;
  const mayMatter = compared < manyCompared ? !isAlone || agreeing > mostAgreeing * compared : true;
  const isWrong = compared < leastCompared ? neverPaid : prefersNothing(owner.preference);
  if (mayMatter && !isWrong && (!isDwarfed(mute, owner) || hasGained(run))) return undefined;
  const seen = sight(owner, mute.name, {
    what: 'decides which episode of a group gets more',
    episodes: episodeIds(owner.preference.against),
  });
  const isNoise = (neverPaid || isSuccess(mute)) && variesAlone(run, owner.name);
  return isNoise ? { ...seen, explains: [...onePart.explains, 'judge_unstable'] } : seen;
}

const isSuccess = ({ preference: { compared, agreeing } }: Rated): boolean =>
  compared >= leastCompared && agreeing >= meansSuccess * compared;

/** Whether a part that means success disappears in the differences of another one, which prefers success less often. */
const isDwarfed = (mute: Rated, owner: Rated): boolean =>
  isSuccess(mute) && !isSuccess(owner) && owner.spread >= leastRatio * mute.spread;

/** Whether equal tokens get different rewards only because of this part, such as a time that was measured. */
function variesAlone(run: ExaminedRun, name: string): boolean {
  const othersOf = ({ parts }: EpisodeOf): string => JSON.stringify({ ...parts, [name]: 0 });
  const completed = trainingEpisodes(run).filter(({ status }) => status === 'completed');
  const same = [...groupEpisodes(completed, ({ task, tokensHash }) => `${task} ${tokensHash}`).values()];
  const differing = same.filter((group) => new Set(group.map(({ reward }) => reward)).size > 1);
  const alone = differing.filter((group) => new Set(group.map(othersOf)).size === 1);
  return differing.length > 0 && alone.length >= leastShare * differing.length;
}

function sight(
  owner: { readonly name: string; readonly share: number },
  mute: string,
  { what, episodes = [] }: { readonly what: string; readonly episodes?: readonly string[] },
): Sighting {
  return {
    summary: `The part "${owner.name}" ${what}: it owns ${percent(owner.share)} of the spread of the reward. The part "${mute}" hardly counts.`,
    cure: `Give "${mute}" more weight and "${owner.name}" less (task_judge.combined.parts), or make "${owner.name}" a condition instead of a part (task_judge.combined.gates).`,
    episodes,
    taken: owner.share,
  };
}

/**
 * The share of the variance of the reward's steps that a part explains. Differences between steps are compared, so
 * that two parts that both rise are not taken for one.
 */
function explained(part: FigureSeries, reward: FigureSeries): number {
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
  return explainedShare(
    steps.map(({ part: change }) => change),
    steps.map(({ reward: change }) => change),
  );
}

/** Whether the last half of the series rises beyond its noise, by more than a tenth of its level. */
function isRising(series: FigureSeries): boolean {
  const half = between(series, 0.4, 1);
  const line = fitSlope(half, noiseIn(half));
  const length = (half.steps.at(-1) ?? 0) - (half.steps[0] ?? 0);
  return line !== undefined && line.low > 0 && line.slope * length > 0.1 * Math.abs(meanOf(half.values));
}

const hasNeverPaid = (part: FigureSeries, owner: FigureSeries): boolean =>
  meanOf(part.values) < 0.02 * Math.max(...owner.values.map(Math.abs));
