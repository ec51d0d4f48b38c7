import { defineAlgorithm, setting, z } from '@agentjet/core';

export const reinforce = defineAlgorithm({
  name: 'reinforce',
  isFlat: true,
  section: z.strictObject({
    reinforce_baseline: setting(
      z.enum(['none', 'group', 'batch']),
      'group',
      'with reinforce: none | group: mean of the other episodes of the task | batch: mean and deviation of the step',
    ),
  }),
  async open({ reinforceBaseline }, { config }) {
    const { createReinforce } = await import('./reinforce.js');
    return createReinforce({ baseline: reinforceBaseline, gamma: config.trainerCommon.algorithm.gamma });
  },
});
