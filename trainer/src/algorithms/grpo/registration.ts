import { defineAlgorithm, setting, z } from '@agentjet/core';

export const grpo = defineAlgorithm({
  name: 'grpo',
  summary: 'reward against the mean of its group',
  isFlat: true,
  section: z.strictObject({
    norm_adv_by_std_in_grpo: setting(z.boolean(), true, "with grpo: divide by the group's standard deviation"),
  }),
  async open({ normAdvByStdInGrpo }, { config }) {
    const { createGrpo } = await import('./grpo.js');
    return createGrpo({ normalizeByStd: normAdvByStdInGrpo, gamma: config.trainerCommon.algorithm.gamma });
  },
});
