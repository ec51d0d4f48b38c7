import type { Algorithm } from '@agentjet/core';
import { centerRewards, withoutRounding } from '../advantages.js';
import { creditReturns, type ReturnOptions } from '../credit-returns.js';

export type ReinforceOptions = {
  /**
   * The baseline that is subtracted from the reward. Defaults to `batch`.
   * - `none`: nothing.
   * - `group`: mean reward of the other episodes of the group (leave-one-out, Kool et al. 2019; "RLOO"). An episode
   *   that is alone in its group gets advantage 0.
   * - `batch`: mean over all episodes of the step, divided by their standard deviation (REINFORCE++, Hu 2025).
   */
  readonly baseline?: 'none' | 'group' | 'batch';
} & ReturnOptions;

/** REINFORCE (Williams 1992) sets the advantage of every token to its episode's reward minus a baseline. */
export function createReinforce({ baseline = 'batch', gamma }: ReinforceOptions = {}): Algorithm {
  switch (baseline) {
    case 'none':
      return {
        name: 'reinforce',
        credit: (group) => creditReturns([group], (values) => withoutRounding(values), gamma),
      };
    case 'group':
      return { name: 'reinforce', leastEpisodes: 2, credit: (group) => creditReturns([group], leaveOneOut, gamma) };
    case 'batch':
      return {
        name: 'reinforce',
        credit: (group) => creditReturns([group], standardize, gamma),
        creditBatch: (groups) => creditReturns(groups, standardize, gamma),
      };
  }
}

/** r_i - mean of the others = (r_i - mean) n / (n - 1). */
function leaveOneOut(rewards: readonly number[]): number[] {
  const scale = rewards.length / Math.max(rewards.length - 1, 1);
  return centerRewards(rewards).map((value) => value * scale);
}

function standardize(rewards: readonly number[]): number[] {
  const centered = centerRewards(rewards);
  const std = Math.sqrt(centered.reduce((sum, value) => sum + value * value, 0) / Math.max(centered.length - 1, 1));
  return centered.map((value) => value / (std + 1e-6));
}
