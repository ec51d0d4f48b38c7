import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource, comparisons } from '../shared-settings.js';

export const answer = defineJudge({
  name: 'answer',
  summary: "compares the agent's last answer with the task's, exactly",
  section: z.strictObject({
    compare: setting(
      z.enum(comparisons),
      'text',
      'text, number (exact; units and thousands by rule), choice (a letter), expression (equal formulas) or set (any order)',
    ),
    task_field: setting(
      z.string().min(1),
      'answer',
      "field of the task's metadata that holds the right answer or a list of right answers",
    ),
    ...answerSource,
    after: setting(
      z.string().min(1).nullable(),
      null,
      'mark before the answer, such as "####"; null: \\boxed{}, <answer>, ####, "answer is", or the whole text',
    ),
    tolerance: setting(z.number().min(0).max(1), 0, 'allowed relative error of numbers; 0: they must be equal'),
    ignore_case: setting(z.boolean(), true),
  }),
  async open(section) {
    const { createAnswerJudge } = await import('./answer-judge.js');
    return createAnswerJudge(section);
  },
});
