import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../shared-settings.js';

export const countdown = defineJudge({
  name: 'countdown',
  summary: 'checks an expression that must reach a target with given numbers, + - * / and brackets',
  section: z.strictObject({
    target_field: setting(z.string().min(1), 'target', "field of the task's metadata that holds the target"),
    numbers_field: setting(z.string().min(1), 'numbers', "field of the task's metadata that holds the list of numbers"),
    ...answerSource,
    form_reward: setting(z.number().min(0).lt(1), 0.1, 'reward for a readable expression that is wrong'),
    use_all: setting(z.boolean(), true, 'false: some of the numbers may be left out'),
  }),
  async open(section) {
    const { createCountdownJudge } = await import('./countdown-judge.js');
    return createCountdownJudge(section);
  },
});
