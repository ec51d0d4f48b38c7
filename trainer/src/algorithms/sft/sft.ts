import type { Algorithm } from '@agentjet/core';
import { setAdvantages } from '../advantages.js';

/** Supervised fine-tuning: every token with lossMask 1 counts alike (advantage 1), whatever the reward. Use it with the loss `sft`. */
export function createSft(): Algorithm {
  return { name: 'sft', loss: 'sft', credit: (group) => setAdvantages(group, () => 1) };
}
