import { defineAlgorithm, z } from '@agentjet/core';
import { createMaxrl } from './maxrl.js';

export const maxrl = defineAlgorithm({
  name: 'maxrl',
  summary: 'as grpo, and what rarely succeeds counts more',
  section: z.strictObject({}),
  open: (_, { config }) => createMaxrl({ gamma: config.trainerCommon.algorithm.gamma }),
});
