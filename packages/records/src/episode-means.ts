import type { Episode } from '@agentjet/rollout';

/**
 * Returns the values that are averaged over episodes, by metric name: parts of a judge's reward, rewards of single
 * targets, and rewards of turns. Empty for an episode that has only one reward.
 */
export function toEpisodeMeans(episode: Episode): Readonly<Record<string, number>> {
  const {
    parts = {},
    rewards = {},
  }: Pick<Partial<Completed>, 'parts' | 'rewards'> = episode.status === 'completed' ? episode : {};
  const earned = episode.turnRewards?.reduce((sum, { value }) => sum + value, 0);
  return {
    ...withPrefix('judge/', parts),
    ...withPrefix('reward/', rewards),
    ...(earned !== undefined && { turn_rewards: earned }),
  };
}

type Completed = Extract<Episode, { readonly status: 'completed' }>;

function withPrefix(prefix: string, values: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
}
