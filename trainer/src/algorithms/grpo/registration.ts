import { defineAlgorithm, setting, z } from '@agentjet/core';
import { createGrpo } from './grpo.js';

export const grpo = defineAlgorithm({
  name: 'grpo',
  summary: 'reward against the mean of its group',
  isFlat: true,
  section: z.strictObject({
    norm_adv_by_std_in_grpo: setting(z.boolean(), true, "with grpo: divide by the group's standard deviation"),
  }),
  open: ({ normAdvByStdInGrpo }, { config }) =>
    createGrpo({ normalizeByStd: normAdvByStdInGrpo, gamma: config.trainerCommon.algorithm.gamma }),
});
