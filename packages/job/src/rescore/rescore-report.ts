import type { JudgeUsage } from '@agentjet/rollout';

/** What the present judge says about kept episodes. */
export type RescoreReport = {
  readonly run: string;
  readonly steps: readonly number[];
  /** All kept episodes, and those that were scored again. */
  readonly episodes: number;
  readonly rescored: number;
  /** Of those that were scored again: how many got their old reward from the workflow and not from a judge. */
  readonly scoredByWorkflow: number;
  /** The means over the episodes that were scored again. Null if there are none. */
  readonly before: ScoreMeans | null;
  readonly after: ScoreMeans | null;
  /** Episodes whose reward or success changed. */
  readonly changes: readonly RescoredEpisode[];
  readonly leftOut: readonly LeftOutEpisodes[];
  readonly usage: JudgeUsage;
  readonly seconds: number;
  readonly isInterrupted: boolean;
};

/** What a judge said about one episode. */
export type EpisodeScore = { readonly reward: number; readonly isSuccess: boolean; readonly reason: string | null };
export type ScoreMeans = { readonly reward: number; readonly successRate: number };

/** An episode with its score in the run and its score now. */
export type RescoredEpisode = {
  readonly episodeId: string;
  readonly taskId: string;
  readonly step: number;
  readonly phase: 'train' | 'evaluation';
  readonly before: EpisodeScore;
  readonly after: EpisodeScore;
};

/** Episodes that were not scored again, for one reason. */
export type LeftOutEpisodes = { readonly reason: string; readonly episodes: number; readonly firstEpisode: string };

/** Rewards are recorded with all digits, so only rounding of the last digit is ignored. */
const rounding = 1e-9;

export const hasChanged = ({ before, after }: RescoredEpisode): boolean =>
  before.isSuccess !== after.isSuccess || Math.abs(before.reward - after.reward) > rounding;

export function meanScore(scores: readonly EpisodeScore[]): ScoreMeans | null {
  if (scores.length === 0) return null;
  const meanOf = (valueOf: (score: EpisodeScore) => number): number =>
    scores.reduce((sum, score) => sum + valueOf(score), 0) / scores.length;
  return { reward: meanOf(({ reward }) => reward), successRate: meanOf(({ isSuccess }) => Number(isSuccess)) };
}
