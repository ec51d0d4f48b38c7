import type { MetricFamily, MetricValues } from '@agentjet/core';
import type { Episode } from '@agentjet/rollout';

/**
 * Returns the values that are averaged over episodes, by metric name: parts of a judge's reward, rewards of single
 * targets, and rewards of turns. Empty for an episode that has only one reward.
 */
export function toEpisodeMeans(episode: Episode): MetricValues {
  const {
    parts = {},
    rewards = {},
  }: Pick<Partial<Completed>, 'parts' | 'rewards'> = episode.status === 'completed' ? episode : {};
  const earned = episode.turnRewards?.reduce((sum, { value }) => sum + value, 0);
  return {
    ...underFamily('judge', parts),
    ...underFamily('reward', rewards),
    ...(earned !== undefined && { turn_rewards: earned }),
  };
}

type Completed = Extract<Episode, { readonly status: 'completed' }>;

function underFamily(family: MetricFamily, values: Readonly<Record<string, number>>): MetricValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`${family}/${name}`, value]),
  ) as MetricValues;
}
