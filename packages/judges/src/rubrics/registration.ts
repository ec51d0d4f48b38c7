import { ConfigError, setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource, judgeModelSettings, modelLimits, openJudgeModel, outageSetting } from '../shared-settings.js';

const count = z.number().int().positive();

export const rubrics = defineJudge({
  name: 'rubrics',
  summary: 'a language model scores the answer by criteria that were learned from scored answers',
  section: z.strictObject({
    file: setting(z.string().min(1).nullable(), null, 'file of the criteria, which people can read and edit', {
      path: 'file',
    }),
    examples: setting(
      z.string().min(1).nullable(),
      null,
      'JSONL with main_query, answer and score, or main_query and ranked; if file does not exist, it is learned from these examples',
      { path: 'file' },
    ),
    max_criteria: setting(count.max(20), 5),
    held_out: setting(
      z.number().min(0).max(0.9),
      0.3,
      'share of the examples that are kept aside to measure how good the rubrics are',
    ),
    ...judgeModelSettings,
    success_from: setting(z.number().min(0).max(1), 0.7, 'lowest reward of a success'),
    votes: setting(count.max(15), 1, 'number of answers; the scores are their means'),
    temperature: setting(z.number().min(0).max(2), 0),
    max_tokens: setting(count, 800, 'longest answer, in tokens'),
    ...answerSource,
    ...outageSetting,
    ...modelLimits,
  }),
  async open(section, { config, signal = new AbortController().signal }) {
    const { model, file } = section;
    if (file === null)
      throw new ConfigError(
        'bad_judge',
        'task_judge.rubrics.file is not set. It names the file of the criteria, such as rubrics.md, which is written if it is not there.',
      );
    if (model === null)
      throw new ConfigError(
        'bad_judge',
        'task_judge.rubrics.model is not set. A language model scores by the rubrics.',
      );
    const [{ openRubrics }, { createRubricsJudge }] = await Promise.all([
      import('./open-rubrics.js'),
      import('./rubrics-judge.js'),
    ]);
    const client = await openJudgeModel({ ...section, model }, config);
    return createRubricsJudge(client, {
      ...section,
      criteria: await openRubrics(client, { ...section, file, signal }),
    });
  },
});
