import { BackboneError, type EpisodeGroup, type Sample } from '@agentjet/core';

/** The samples of a group with `advantageOf(episode)` at every generated token of that episode, however it was cut into samples. */
export function setAdvantages(group: EpisodeGroup, advantageOf: (episode: number) => number): Sample[] {
  return group.episodes.flatMap(({ samples }, index) => {
    const advantage = advantageOf(index);
    return samples.map((sample) => ({
      ...sample,
      advantages: Float32Array.from(sample.lossMask, (mask) => (mask === 1 ? advantage : 0)),
    }));
  });
}

/** Rewards of a group, one per episode. Throws BackboneError `bad_reward` for one that is not a finite number. */
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

/** Rewards minus their mean; exactly 0 where all are equal. */
export function centerRewards(rewards: readonly number[]): number[] {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const allEqual = rewards.every((reward) => reward === rewards[0]);
  return rewards.map((reward) => (allEqual ? 0 : reward - mean));
}
