import type { Algorithm } from '@agentjet/core';
import { centerRewards } from '../advantages.js';
import { type Compare, creditReturns, type ReturnOptions } from '../credit-returns.js';

export type GrpoOptions = {
  /**
   * Divides by the standard deviation of the group's rewards. Defaults to true; false is "Dr. GRPO" (Liu et al. 2025).
   */
  readonly normalizeByStd?: boolean;
  /** This is added to the standard deviation. Defaults to 1e-6. */
  readonly epsilon?: number;
} & ReturnOptions;

/**
 * Group relative policy optimization (Shao et al. 2024) sets A = (reward - mean) / (std + epsilon) over the episodes of
 * the group, with n - 1 in std. Each episode counts once, for any number of samples. A group of one episode has nothing
 * to compare, so the advantage is 0. creditReturns handles rewards per target and per turn.
 */
export function createGrpo({ normalizeByStd = true, epsilon = 1e-6, gamma }: GrpoOptions = {}): Algorithm {
  const compare: Compare = (values) => {
    const centered = centerRewards(values);
    const variance = centered.reduce((sum, value) => sum + value * value, 0) / Math.max(centered.length - 1, 1);
    const scale = normalizeByStd ? 1 / (Math.sqrt(variance) + epsilon) : 1;
    return centered.map((value) => value * scale);
  };
  return { name: 'grpo', leastEpisodes: 2, credit: (group) => creditReturns([group], compare, gamma) };
}
