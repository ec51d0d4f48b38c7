import { existsSync, readFileSync } from 'node:fs';
import { ConfigError, setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource, judgeModelSettings, modelLimits, openJudgeModel, outageSetting } from '../shared-settings.js';

const count = z.number().int().positive();
export const llm = defineJudge({
  name: 'llm',
  summary: 'a language model scores the answer by a rubric',
  section: z.strictObject({
    ...judgeModelSettings,
    rubric: setting(
      z.string().min(1).nullable(),
      null,
      'description of good and bad answers, or the path of a .md or .txt file',
    ),
    reference_field: setting(
      z.string().min(1).nullable(),
      null,
      "field of the task's metadata with a reference answer for the judge",
    ),
    scale: setting(z.number().positive(), 10, 'the highest score; the reward is score / scale'),
    success_from: setting(z.number().min(0).max(1), 0.7, 'lowest reward of a success'),
    votes: setting(count.max(15), 1, 'number of verdicts; the reward is their mean'),
    temperature: setting(z.number().min(0).max(2), 0),
    max_tokens: setting(count, 500, 'longest verdict, in tokens'),
    ...answerSource,
    ...outageSetting,
    ...modelLimits,
  }),
  async open(section, { config }) {
    const { model, rubric } = section;
    if (model === null || rubric === null)
      throw new ConfigError(
        'bad_judge',
        `task_judge.llm.${model === null ? 'model' : 'rubric'} is not set. A language model that judges needs a model and a rubric.`,
      );
    const { createLlmJudge } = await import('./llm-judge.js');
    const client = await openJudgeModel({ ...section, model }, config);
    return createLlmJudge(client, { ...section, rubric: readRubric(rubric) });
  },
});

function readRubric(rubric: string): string {
  if (!/^[^\n]+\.(md|txt)$/.test(rubric)) return rubric;
  if (existsSync(rubric)) return readFileSync(rubric, 'utf8');
  throw new ConfigError('missing_file', `task_judge.llm.rubric names ${rubric}, which does not exist.`);
}
