import { BackboneError, type EpisodeGroup, type RewardedEpisode, type Sample } from '@agentjet/core';

/**
 * Returns the samples of a group with `advantageOf(episode)` at every generated token of that episode. The result does
 * not depend on how the episode was cut into samples.
 */
export function setAdvantages(group: EpisodeGroup, advantageOf: (episode: number) => number): Sample[] {
  return group.episodes.flatMap(({ samples }, index) => {
    const advantage = advantageOf(index);
    return samples.map((sample) => ({
      ...sample,
      advantages: Float32Array.from(sample.lossMask, (mask) => (mask === 1 ? advantage : 0)),
    }));
  });
}

/** Returns whether the episode has a trained token. Otherwise its reward says nothing about the model. */
export const isTrained = ({ samples }: Pick<RewardedEpisode, 'samples'>): boolean =>
  samples.some(({ lossMask }) => lossMask.includes(1));

/**
 * Returns the rewards of a group, one per episode. Throws BackboneError `bad_reward` for a reward that is not a finite
 * number.
 */
export function readRewards(group: EpisodeGroup): number[] {
  return group.episodes.map(({ episodeId, reward, rewards = {}, turnRewards = [] }) => {
    const all = [reward, ...Object.values(rewards), ...turnRewards.map(({ value }) => value)];
    const wrong = all.find((value) => !Number.isFinite(value));
    if (wrong !== undefined)
      throw new BackboneError(
        'bad_reward',
        `The reward of episode "${episodeId}" is ${wrong}; it must be a finite number.`,
      );
    return reward;
  });
}

/**
 * A difference counts as rounding if it is at most this share of the largest reward, or of 1 if all rewards are
 * smaller. Adding the rewards in another order changes a sum by less.
 */
const rounding = 1e-9;

/** Returns how far rounding alone can move a difference of these values away from 0. */
function roundingOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 1) * rounding;
}

/** Replaces values that differ from 0 by rounding alone with 0. */
export function withoutRounding(values: readonly number[], limit = roundingOf(values)): number[] {
  return values.map((value) => (Math.abs(value) <= limit ? 0 : value));
}

/** Returns rewards minus their mean. The result is exactly 0 if all rewards are equal or differ by rounding alone. */
export function centerRewards(rewards: readonly number[]): number[] {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return withoutRounding(
    rewards.map((reward) => reward - mean),
    roundingOf(rewards),
  );
}
