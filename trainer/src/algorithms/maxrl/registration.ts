import { defineAlgorithm, z } from '@agentjet/core';

export const maxrl = defineAlgorithm({
  name: 'maxrl',
  summary: 'as grpo, and what rarely succeeds counts more',
  section: z.strictObject({}),
  async open(_, { config }) {
    const { createMaxrl } = await import('./maxrl.js');
    return createMaxrl({ gamma: config.trainerCommon.algorithm.gamma });
  },
});
