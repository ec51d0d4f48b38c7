import type { Algorithm, EpisodeGroup } from '@agentjet/core';
import { centerRewards, readRewards, setAdvantages } from './advantages.js';

export type ReinforceOptions = {
  /**
   * What is subtracted from the reward; default `batch`.
   * - `none`: nothing.
   * - `group`: mean reward of the other episodes of the group (leave-one-out, Kool et al. 2019; "RLOO"). Alone in its
   *   group an episode gets advantage 0.
   * - `batch`: mean over all episodes of the step, divided by their standard deviation (REINFORCE++, Hu 2025).
   */
  readonly baseline?: 'none' | 'group' | 'batch';
};

/** REINFORCE (Williams 1992): the advantage of every token is its episode's reward minus a baseline. */
export function createReinforce({ baseline = 'batch' }: ReinforceOptions = {}): Algorithm {
  switch (baseline) {
    case 'none':
      return { name: 'reinforce', credit: (group) => creditWith(group, readRewards(group)) };
    case 'group':
      return { name: 'reinforce', credit: (group) => creditWith(group, leaveOneOut(readRewards(group))) };
    case 'batch':
      return { name: 'reinforce', credit: (group) => creditBatch([group]), creditBatch };
  }
}

function creditWith(group: EpisodeGroup, advantages: readonly number[]) {
  return setAdvantages(group, (episode) => advantages[episode] ?? 0);
}

/** r_i - mean of the others = (r_i - mean) n / (n - 1). */
function leaveOneOut(rewards: readonly number[]): number[] {
  const scale = rewards.length / Math.max(rewards.length - 1, 1);
  return centerRewards(rewards).map((value) => value * scale);
}

function creditBatch(groups: readonly EpisodeGroup[]) {
  const rewards = groups.map(readRewards);
  const centered = centerRewards(rewards.flat());
  const std = Math.sqrt(centered.reduce((sum, value) => sum + value * value, 0) / Math.max(centered.length - 1, 1));
  let next = 0;
  return groups.flatMap((group, index) => {
    const first = next;
    next += rewards[index]?.length ?? 0;
    return setAdvantages(group, (episode) => (centered[first + episode] ?? 0) / (std + 1e-6));
  });
}
