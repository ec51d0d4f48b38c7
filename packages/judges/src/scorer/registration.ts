import { ConfigError, setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../shared-settings.js';

export const scorer = defineJudge({
  name: 'scorer',
  summary: 'a scorer of autoevals, evalite or vitest-evals; its score is the reward',
  section: z.strictObject({
    function: setting(
      z.string().min(1).nullable(),
      null,
      'package->Export, such as autoevals->Levenshtein, or path/file.ts->Export: a function of { input, output, expected }, or a judge of vitest-evals',
      { path: 'module' },
    ),
    task_field: setting(
      z.string().min(1),
      'answer',
      "field of the task's metadata that the scorer gets as expected; a task without it gives none",
    ),
    task_fields: setting(
      z.record(z.string().min(1), z.string().min(1)),
      {},
      "further arguments from the task's metadata, such as { context: passages }; each task must have them",
    ),
    options: setting(
      z.record(z.string(), z.unknown()),
      {},
      'arguments that are the same for every task, such as { model: gpt-5-mini }',
    ),
    read: setting(
      z.enum(['text', 'number', 'json']),
      'text',
      'form in which the scorer gets the answer; an answer that cannot be read earns 0',
    ),
    ...answerSource,
    success_from: setting(z.number(), 1, 'lowest score of a success'),
  }),
  async open({ function: reference, ...section }) {
    if (reference === null)
      throw new ConfigError(
        'bad_judge',
        'task_judge.judge_type is scorer, but task_judge.scorer.function is not set. Name a scorer, such as autoevals->Levenshtein.',
      );
    const [{ importUserModule }, { createScorerJudge }, { toScoring }] = await Promise.all([
      import('@agentjet/rollout/loading'),
      import('./scorer-judge.js'),
      import('./scorer.js'),
    ]);
    const key = 'task_judge.scorer.function';
    const exported = await importUserModule(reference, process.cwd(), key);
    const { name, score } = toScoring(exported, `${key} ${reference}`);
    return createScorerJudge({ name, scorer: score }, section);
  },
});
