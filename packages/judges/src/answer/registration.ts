import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../answer-settings.js';
import { comparisons } from '../answer-settings.js';

export const answer = defineJudge({
  name: 'answer',
  summary: "the last answer of the agent against the task's, exactly",
  section: z.strictObject({
    compare: setting(
      z.enum(comparisons),
      'text',
      'text, number (exact; units and thousands by rule), choice (a letter), expression (equal formulas) or set (any order)',
    ),
    task_field: setting(
      z.string().min(1),
      'answer',
      "field of the task's metadata: the right answer, or a list of them",
    ),
    ...answerSource,
    after: setting(
      z.string().min(1).nullable(),
      null,
      'the mark before the answer, such as "####"; null: \\boxed{}, <answer>, ####, "answer is", or the whole text',
    ),
    tolerance: setting(z.number().min(0).max(1), 0, 'of numbers, relative to the right one; 0: equal'),
    ignore_case: setting(z.boolean(), true),
  }),
  async open(section) {
    const { createAnswerJudge } = await import('./answer-judge.js');
    return createAnswerJudge(section);
  },
});
