import type { Algorithm } from '@agentjet/core';
import { describe, it } from 'vitest';
import { algorithmCases } from '../testing/algorithm-cases.js';
import { createDistill } from './distill/distill.js';
import { createGrpo } from './grpo/grpo.js';
import { createMaxrl } from './maxrl/maxrl.js';
import { createReinforce } from './reinforce/reinforce.js';
import { createSft } from './sft/sft.js';

const ownLoss: Algorithm = {
  ...createGrpo(),
  slope: ({ logprobs, behaviour, advantages }) =>
    logprobs.map((logprob, k) => -Math.exp(logprob - (behaviour[k] ?? 0)) * (advantages[k] ?? 0)),
};

describe.each([
  ['grpo', () => createGrpo()],
  ['reinforce with the mean of the batch', () => createReinforce({ baseline: 'batch' })],
  ['reinforce with the mean of the group', () => createReinforce({ baseline: 'group' })],
  ['maxrl', () => createMaxrl()],
  ['distill', () => createDistill({ clipMin: -1, clipMax: 1 })],
  ['distill mixed with rewards', () => createDistill({ rewards: { algorithm: createGrpo(), weight: 0.5 } })],
  ['sft', createSft],
  ['an algorithm with its own loss', () => ownLoss],
])('%s', (_, create: () => Algorithm) => {
  for (const { name, run } of algorithmCases(create)) it(name, run);
});
