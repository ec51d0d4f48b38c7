import {
  estimateEarned,
  estimatePaid,
  hasScore,
  meanReward,
  type Estimate,
  type Played,
  type RewardScale,
} from './outcomes.js';

/**
 * `more_than_chance`: the play is paid more often than random or empty play, and the 95% intervals do not overlap.
 * `half_of_right`: its mean reward is over half of that of right answers, even at the low end of its interval.
 * `more_than_success`: verdicts call at least half of its episodes failures, and these earn more than the mean success.
 * `all_equal`: every play earned the same, and that is more than 0.
 */
export type AlarmRule = 'more_than_chance' | 'half_of_right' | 'more_than_success' | 'all_equal';

export type Alarm = {
  readonly rule: AlarmRule;
  readonly played: Played;
  /** What the play got, and what it is compared with: shares of paid episodes, or of the reward's range. */
  readonly got: Estimate;
  readonly limit: number;
};

/** What plays are compared with. */
export type Standards = {
  readonly scale: RewardScale;
  /** `chance` is the random or empty play that is paid most often. `random` is the same without empty plays. */
  readonly chance: Played | undefined;
  readonly random: Played | undefined;
  /** The form of the right answer that earns most. Undefined if no right answer was paid, or none is known. */
  readonly right: Played | undefined;
};

export function findStandards(played: readonly Played[], scale: RewardScale): Standards {
  const earns = (each: Played): number => estimateEarned(each, scale)?.value ?? 0;
  const taken = ofRole(played, 'right').filter((each) => isTaken(each, played, scale));
  const right = highest(taken, earns);
  const settled = settleThreshold(scale, right === undefined ? null : meanReward(right));
  const rank = (each: Played): number => (estimatePaid(each, settled)?.value ?? 0) + earns(each) / 1e6;
  const byChance = ofRole(played, 'chance');
  const written = byChance.filter(({ play }) => play.way.isEmpty !== true);
  return { scale: settled, chance: highest(byChance, rank), random: highest(written, rank), right };
}

/**
 * Settles what is paid if the user named no threshold. A reward with parts must be at least half of what right answers
 * earn, even if verdicts call a lower reward a success. If no right answer is known and the verdicts call half of the
 * highest reward a success, only the user can say what is paid.
 */
function settleThreshold(scale: RewardScale, ofRight: number | null): RewardScale {
  const { threshold, isGiven, levels, highest } = scale;
  const hasParts = levels.length > 2;
  if (isGiven) return scale;
  if (ofRight === null)
    return hasParts && threshold !== null && threshold <= highest / 2 ? { ...scale, threshold: null } : scale;
  if (hasParts) return threshold === null ? scale : { ...scale, threshold: Math.max(threshold, ofRight / 2) };
  return { ...scale, threshold: threshold ?? highest };
}

/**
 * Whether the agent takes the right answer: it earns at least half of the highest reward, or more than chance. Otherwise
 * the expected field is not the answer, or the agent reads its answer elsewhere.
 */
function isTaken(right: Played, played: readonly Played[], scale: RewardScale): boolean {
  const earned = estimateEarned(right, scale);
  const byChance = ofRole(played, 'chance').map((each) => estimateEarned(each, scale)?.high ?? 0);
  return earned !== null && (earned.value >= 0.5 || earned.low > Math.max(0, ...byChance));
}

export const ofRole = (played: readonly Played[], role: Played['play']['strategy']['role']): readonly Played[] =>
  played.filter(({ play }) => play.strategy.role === role);

function highest(played: readonly Played[], valueOf: (each: Played) => number): Played | undefined {
  return played.toSorted((one, other) => valueOf(other) - valueOf(one))[0];
}

/** Returns at most one alarm for each strategy: its play that earns most. The first in the list earned most. */
export function findAlarms(played: readonly Played[], standards: Standards): readonly Alarm[] {
  const { scale } = standards;
  const [first] = played;
  if (first !== undefined && scale.levels.length === 1 && scale.highest > 0 && standards.right === undefined)
    return [{ rule: 'all_equal', played: first, got: { value: 1, low: 1, high: 1 }, limit: 1 }];
  const alarms = played.flatMap((each) => check(each, standards));
  const strongest = alarms.toSorted((one, other) => other.got.value - one.got.value || other.got.low - one.got.low);
  const names = new Set<string>();
  return strongest.filter(({ played: { play } }) => {
    const isNew = !names.has(play.strategy.name);
    names.add(play.strategy.name);
    return isNew;
  });
}

function check(played: Played, standards: Standards): readonly Alarm[] {
  const { strategy, way } = played.play;
  const isEmpty = way.isEmpty === true;
  if (strategy.role !== 'unsolved' && !isEmpty) return [];
  const alarms = [checkChance(played, standards), checkRight(played, standards), checkSuccess(played, standards)];
  return alarms.flatMap((alarm) => alarm ?? []).slice(0, 1);
}

/** Empty play is compared with random play alone. */
function checkChance(played: Played, { scale, chance, random }: Standards): Alarm | undefined {
  const by = played.play.way.isEmpty === true ? random : chance;
  const byChance = by === undefined ? null : estimatePaid(by, scale);
  const paid = estimatePaid(played, scale);
  if (paid === null || byChance === null || paid.low <= byChance.high) return undefined;
  return { rule: 'more_than_chance', played, got: paid, limit: byChance.value };
}

/** With a given threshold, compares the paid share and the mean reward, because a model learns the mean reward. */
function checkRight(played: Played, { scale, right }: Standards): Alarm | undefined {
  if (right === undefined) return undefined;
  for (const measure of scale.isGiven ? [estimatePaid, estimateEarned] : [estimateEarned]) {
    const [earned, ofRight] = [measure(played, scale), measure(right, scale)];
    const zero = measure === estimatePaid ? 0 : zeroOf(scale);
    if (earned !== null && ofRight !== null && earned.low > halfOf(ofRight.value, zero))
      return { rule: 'half_of_right', played, got: earned, limit: ofRight.value };
  }
  return undefined;
}

function checkSuccess(played: Played, { scale }: Standards): Alarm | undefined {
  const { meanOfSuccess, lowest, highest } = scale;
  const failures = played.outcomes.filter((outcome) => hasScore(outcome) && !outcome.isSuccess);
  if (meanOfSuccess === null || failures.length < played.outcomes.length / 2) return undefined;
  const earned = estimateEarned({ ...played, outcomes: failures }, scale);
  const limit = (meanOfSuccess - lowest) / (highest - lowest);
  if (earned === null || !(earned.low > limit)) return undefined;
  return { rule: 'more_than_success', played, got: earned, limit };
}

/** Returns the place of reward 0 in the range, as a share of it. */
const zeroOf = ({ lowest, highest }: RewardScale): number => (highest <= lowest ? 0 : -lowest / (highest - lowest));

/**
 * Returns the point halfway from a reward of 0 to the reward of right answers, as a share of the range. If right
 * answers earn less than 0, it is halfway from the lowest reward.
 */
const halfOf = (ofRight: number, zero: number): number => (ofRight > zero ? (zero + ofRight) / 2 : ofRight / 2);
