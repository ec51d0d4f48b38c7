import type { Algorithm, CommonConfig, EpisodeGroup, RewardedEpisode } from '@agentjet/core';
import type { GroupRules } from '@agentjet/probe';

/**
 * Returns the rules by which the run trains groups. For each reward, it runs the algorithm to find out whether a group
 * of equal rewards gets a gradient.
 */
export function toGroupRules(
  { rollout }: CommonConfig,
  algorithm: Algorithm,
  representatives: ReadonlyMap<string, RewardedEpisode>,
): GroupRules {
  const all: EpisodeGroup = { groupId: 'all', episodes: [...representatives.values()] };
  const trained = [...representatives].filter(([, episode]) => trainsIfEqual(algorithm, episode, all));
  return {
    dropsFailed: rollout.failedEpisodePolicy === 'drop_group',
    minShare: rollout.failedEpisodePolicy === 'partial_group' ? rollout.minGroupShare : 1,
    trainedIfEqual: new Set(trained.map(([value]) => value)),
  };
}

/**
 * Returns whether a group gets a gradient if all its episodes equal this one. `others` is the rest of the batch, for
 * algorithms that compare groups.
 */
function trainsIfEqual(algorithm: Algorithm, episode: RewardedEpisode, others: EpisodeGroup): boolean {
  const numEpisodes = Math.max(2, algorithm.leastEpisodes ?? 2);
  const ids = Array.from({ length: numEpisodes }, (_, index) => `equal-${index}`);
  const taught = algorithm.needsTeacher === true ? withTeacher : (each: RewardedEpisode): RewardedEpisode => each;
  const group = { groupId: 'equal', episodes: ids.map((id) => withId(taught(episode), id)) };
  const rest = { ...others, episodes: others.episodes.map(taught) };
  const samples = algorithm.creditBatch?.([group, rest]) ?? algorithm.credit(group);
  return samples.some(
    ({ episodeId, advantages }) => ids.includes(episodeId) && advantages.some((value) => value !== 0),
  );
}

/** A probe asks no teacher. A teacher disagrees with the model nearly everywhere, so this one does. */
const withTeacher = (episode: RewardedEpisode): RewardedEpisode => ({
  ...episode,
  samples: episode.samples.map((sample) => ({ ...sample, teacherLogprobs: sample.logprobs.map((value) => value - 1) })),
});

const withId = (episode: RewardedEpisode, episodeId: string): RewardedEpisode => ({
  ...episode,
  episodeId,
  samples: episode.samples.map((sample) => ({ ...sample, episodeId })),
});
