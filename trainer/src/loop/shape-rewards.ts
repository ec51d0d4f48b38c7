import type { EpisodeGroup, LossOptions, MetricValues, RewardedEpisode, Sample } from '@agentjet/core';
import { scoreGap } from '../algorithms/score-gap.js';
import { klEstimate } from '../slope/term-loss.js';

/** What is subtracted from rewards before they are compared. */
export type RewardShaping = {
  /**
   * Soft overlong punishment (Yu et al. 2025, "DAPO", eq. 13): an answer of n tokens costs nothing up to
   * `maxTokens - buffer`, `factor` at `maxTokens`, and a share in between. The longest answer of the episode counts.
   */
  readonly overlong?: { readonly maxTokens: number; readonly buffer: number; readonly factor: number };
  /**
   * KL in the reward (Ouyang et al. 2022, eq. 2): `coef` times the sum over the episode's tokens of the estimate of
   * KL(policy, initial model). The samples then have the initial model's logprobs as `teacherLogprobs`.
   */
  readonly kl?: { readonly coef: number; readonly estimator: KlEstimator };
};

type KlEstimator = Extract<LossOptions, { kind: 'policy' }>['klEstimator'];

/** Returns the groups with shaped rewards. A target's answers lower its own reward. All answers lower `reward`. */
export function shapeRewards<G extends EpisodeGroup>(groups: readonly G[], shaping: RewardShaping): readonly G[] {
  return groups.map((group) => ({ ...group, episodes: group.episodes.map((episode) => shape(episode, shaping)) }));
}

function shape(episode: RewardedEpisode, shaping: RewardShaping): RewardedEpisode {
  const { reward, rewards, samples } = episode;
  const costOf = (target?: string): number =>
    costs(
      samples.filter(({ targetTag }) => target === undefined || targetTag === target),
      shaping,
    );
  return {
    ...episode,
    reward: reward - costOf(),
    ...(rewards && {
      rewards: Object.fromEntries(Object.entries(rewards).map(([target, value]) => [target, value - costOf(target)])),
    }),
  };
}

function costs(samples: readonly Sample[], { overlong, kl }: RewardShaping): number {
  return (overlong ? overlongCost(longestAnswer(samples), overlong) : 0) + (kl ? kl.coef * sumKl(samples, kl) : 0);
}

function overlongCost(length: number, { maxTokens, buffer, factor }: NonNullable<RewardShaping['overlong']>): number {
  return factor * Math.min(1, Math.max(0, (length - (maxTokens - buffer)) / buffer));
}

/** Returns the tokens of the longest turn of an agent. A token in several rows has lossMask 1 in only one of them. */
function longestAnswer(samples: readonly Sample[]): number {
  const lengths = new Map<string, number>();
  samples.forEach(({ agentName, lossMask, turnIndices }, row) => {
    let run = 0;
    lossMask.forEach((mask, t) => {
      if (mask !== 1) return;
      if (lossMask[t - 1] !== 1) run++;
      const answer = `${agentName} ${turnIndices === undefined ? `row ${row} run ${run}` : turnIndices[t]}`;
      lengths.set(answer, (lengths.get(answer) ?? 0) + 1);
    });
  });
  return Math.max(0, ...lengths.values());
}

function sumKl(samples: readonly Sample[], { estimator }: NonNullable<RewardShaping['kl']>): number {
  let sum = 0;
  for (const { lossMask, logprobs, teacherLogprobs } of samples)
    lossMask.forEach((mask, t) => {
      if (mask === 1) sum += klEstimate(scoreGap(teacherLogprobs?.[t] ?? 0, logprobs[t] ?? 0), estimator).value;
    });
  return sum;
}

/** Returns the metric `reward_penalty`: the mean amount that shaping subtracted from the reward of an episode. */
export function shapingMetrics(before: readonly EpisodeGroup[], after: readonly EpisodeGroup[]): MetricValues {
  const rewardsOf = (groups: readonly EpisodeGroup[]) =>
    groups.flatMap(({ episodes }) => episodes.map(({ reward }) => reward));
  const [given, shaped] = [rewardsOf(before), rewardsOf(after)];
  const lost = given.reduce((sum, reward, at) => sum + reward - (shaped[at] ?? reward), 0);
  return { reward_penalty: lost / Math.max(1, given.length) };
}
