import type { Episode } from '@agentjet/rollout';

/**
 * What is averaged over episodes, by the name of its metric: parts of a judge's reward, rewards of single targets, and
 * what turns earned. Empty for an episode with one reward and nothing else.
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
