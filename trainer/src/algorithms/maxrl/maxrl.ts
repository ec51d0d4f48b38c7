import type { Algorithm } from '@agentjet/core';
import { centerRewards } from '../advantages.js';
import { type Compare, creditReturns, type ReturnOptions } from '../credit-returns.js';

/** This is added to the divisor. Without it, rewards that differ only by rounding would get large advantages. */
const epsilon = 1e-6;

/** The lowest reward gets -1. A higher reward gets more if it is rarer. */
const compare: Compare = (values) => {
  const centered = centerRewards(values);
  const belowMean = -Math.min(...centered);
  return centered.map((value) => value / (belowMean + epsilon));
};

/**
 * Maximum likelihood reinforcement learning (Tajwar et al. 2026) sets A = (reward - mean) / (mean - lowest) over the
 * episodes of the group. For rewards of 0 and 1 that is (reward - mean) / mean, an estimate of the gradient of
 * log(success rate). GRPO's estimate is closer to the gradient of the success rate itself. Tasks that rarely succeed
 * therefore count more with MaxRL, and the model does not forget them while it learns other tasks.
 */
export function createMaxrl({ gamma }: ReturnOptions = {}): Algorithm {
  return { name: 'maxrl', leastEpisodes: 2, credit: (group) => creditReturns([group], compare, gamma) };
}
