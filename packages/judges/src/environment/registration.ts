import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';

export const environment = defineJudge({
  name: 'environment',
  summary: "the verdict of the episode's environment",
  section: z.strictObject({
    scale: setting(z.number(), 1, "factor for the environment's reward"),
    success_bonus: setting(
      z.number(),
      0,
      'added for a success; the original AgentJet uses scale 0.5, success_bonus 1, success_from 1',
    ),
    success_from: setting(z.number().nullable(), null, 'lowest reward of a success; null: the environment decides'),
  }),
  async open(section) {
    const { createEnvironmentJudge } = await import('./environment-judge.js');
    return createEnvironmentJudge(section);
  },
});
