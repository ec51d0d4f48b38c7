import { defineAlgorithm, z } from '@agentjet/core';

export const maxrl = defineAlgorithm({
  name: 'maxrl',
  summary: 'like grpo, but tasks that rarely succeed count more',
  section: z.strictObject({}),
  async open(_, { config }) {
    const { createMaxrl } = await import('./maxrl.js');
    return createMaxrl({ gamma: config.trainerCommon.algorithm.gamma });
  },
});
