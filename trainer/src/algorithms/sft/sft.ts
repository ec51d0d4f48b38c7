import type { Algorithm } from '@agentjet/core';
import { setAdvantages } from '../advantages.js';

/**
 * Supervised fine-tuning gives every token with lossMask 1 the advantage 1, independent of the reward. Use it with the
 * loss `sft`.
 */
export function createSft(): Algorithm {
  return { name: 'sft', loss: 'sft', credit: (group) => setAdvantages(group, () => 1) };
}
