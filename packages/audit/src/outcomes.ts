import { mean } from '@agentjet/core';
import { wilsonInterval, type Interval } from '@agentjet/core/success';
import type { Play } from './plan-plays.js';

/** The outcome of one episode. `lost` episodes ended without a verdict because of an outage, and are not counted. */
export type PlayOutcome = { readonly taskId: string; readonly said: string } & (
  | { readonly kind: 'scored'; readonly reward: number; readonly isSuccess: boolean }
  /** `reward` is what a run would give: null if it leaves the episode out. */
  | { readonly kind: 'failed'; readonly message: string; readonly reward: number | null }
  | { readonly kind: 'lost' }
);

export type Scored = Extract<PlayOutcome, { readonly kind: 'scored' }>;

/** All episodes of one play. */
export type Played = { readonly play: Play; readonly outcomes: readonly PlayOutcome[] };

export const hasScore = (outcome: PlayOutcome): outcome is Scored => outcome.kind === 'scored';

const rewardsOf = (outcomes: readonly PlayOutcome[]): readonly number[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'lost' || outcome.reward === null ? [] : [outcome.reward]));

/** How rewards are read: which of them are paid, and on which scale. */
export type RewardScale = {
  /** The lowest reward that counts as paid. Null: no reward counts as a success, and the user named none. */
  readonly threshold: number | null;
  readonly isGiven: boolean;
  /** The lowest reward, at most 0, and the highest. */
  readonly lowest: number;
  readonly highest: number;
  /** All different rewards, ascending. More than two: the reward has parts. */
  readonly levels: readonly number[];
  /** The mean reward of the episodes that verdicts called a success. Null if there are few, or if the threshold is given. */
  readonly meanOfSuccess: number | null;
};

/**
 * Reads the scale from all episodes. Without a given threshold, a reward is paid if it is at least as high as the
 * lowest reward of a success.
 */
export function readScale(outcomes: readonly PlayOutcome[], given: number | null): RewardScale {
  const levels = [...new Set(rewardsOf(outcomes).map((reward) => Number(reward.toFixed(6))))].sort((a, b) => a - b);
  const successes = outcomes.filter(hasScore).flatMap(({ reward, isSuccess }) => (isSuccess ? [reward] : []));
  const lowest = Math.min(0, levels[0] ?? 0);
  return {
    threshold: given ?? (successes.length === 0 ? null : Math.min(...successes)),
    isGiven: given !== null,
    lowest,
    highest: levels.at(-1) ?? lowest,
    levels,
    meanOfSuccess: given === null && successes.length >= enoughSuccesses ? meanOf(successes) : null,
  };
}

/** The least number of successes whose mean reward is compared. A mean of fewer is too uncertain. */
const enoughSuccesses = 5;

function isPaid({ reward, isSuccess }: Scored, { threshold, isGiven, lowest }: RewardScale): boolean {
  if (threshold === null) return false;
  return isGiven || threshold > lowest ? reward >= threshold : isSuccess;
}

/** A share in 0..1, with its 95% interval. */
export type Estimate = Interval & { readonly value: number };

/**
 * The share of episodes that were paid. A failed episode counts as not paid. Null if no episode counts. Each episode is
 * a trial, also if a task was played more than once: that happens only if there are few tasks, and then all are played.
 */
export function estimatePaid({ outcomes }: Played, scale: RewardScale): Estimate | null {
  const counted = outcomes.filter(({ kind }) => kind !== 'lost');
  const numPaid = counted.filter((outcome) => hasScore(outcome) && isPaid(outcome, scale)).length;
  return counted.length === 0 ? null : estimateShare(numPaid / counted.length, counted.length);
}

const estimateShare = (value: number, trials: number): Estimate => ({ value, ...wilsonInterval(value, trials) });

/** The mean reward, as a share of the range from the lowest to the highest reward. Null if no episode has one. */
export function estimateEarned({ outcomes }: Played, { lowest, highest }: RewardScale): Estimate | null {
  const shares = rewardsOf(outcomes).map((reward) => (highest > lowest ? (reward - lowest) / (highest - lowest) : 0));
  const value = meanOf(shares);
  if (value === null) return null;
  if (shares.every((share) => share === 0 || share === 1)) return estimateShare(value, shares.length);
  const variance = shares.reduce((sum, share) => sum + (share - value) ** 2, 0) / Math.max(1, shares.length - 1);
  const margin = quantile * Math.sqrt(variance / shares.length);
  return { value, low: value - margin, high: value + margin };
}

/** Student's quantile of 97.5% for 20 episodes. */
const quantile = 2.09;

export const meanReward = ({ outcomes }: Played): number | null => meanOf(rewardsOf(outcomes));

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values);
}
