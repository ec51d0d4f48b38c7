import type { Algorithm } from '@agentjet/core';
import { centerRewards } from '../advantages.js';
import { type Compare, creditReturns, type ReturnOptions } from '../credit-returns.js';

/** This is added to the divisor, so that rewards that differ by rounding alone teach next to nothing. */
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
 * log(success rate); GRPO's estimate is nearer to the gradient of the success rate. Tasks that rarely succeed therefore
 * count more, and learning other tasks does not drive them out.
 */
export function createMaxrl({ gamma }: ReturnOptions = {}): Algorithm {
  return { name: 'maxrl', leastEpisodes: 2, credit: (group) => creditReturns([group], compare, gamma) };
}
