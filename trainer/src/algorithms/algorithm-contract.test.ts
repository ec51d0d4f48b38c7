import { describe, it } from 'vitest';
import { algorithmCases } from '../testing/algorithm-cases.js';
import { createGrpo } from './grpo/grpo.js';
import { createReinforce } from './reinforce/reinforce.js';
import { createSft } from './sft/sft.js';

describe.each([
  ['grpo', () => createGrpo()],
  ['reinforce with the mean of the batch', () => createReinforce({ baseline: 'batch' })],
  ['reinforce with the mean of the group', () => createReinforce({ baseline: 'group' })],
  ['sft', createSft],
])('%s', (_, create) => {
  for (const { name, run } of algorithmCases(create)) it(name, run);
});
