import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';

export const environment = defineJudge({
  name: 'environment',
  summary: "the verdict of the episode's environment",
  section: z.strictObject({
    scale: setting(z.number(), 1, "the environment's reward times this"),
    success_bonus: setting(
      z.number(),
      0,
      "added for a success; the original's judge: scale 0.5, success_bonus 1, success_from 1",
    ),
    success_from: setting(z.number().nullable(), null, 'reward that is a success; null: as the environment says'),
  }),
  async open(section) {
    const { createEnvironmentJudge } = await import('./environment-judge.js');
    return createEnvironmentJudge(section);
  },
});
