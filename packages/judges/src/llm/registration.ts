import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../answer-source.js';

const count = z.number().int().positive();
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'the name of an environment variable, not a key' }),
);

export const llm = defineJudge({
  name: 'llm',
  summary: 'a language model scores the answer by a rubric',
  section: z.strictObject({
    base_url: setting(z.string().min(1), 'https://api.openai.com/v1', 'any OpenAI-compatible server'),
    model: setting(z.string().min(1).nullable(), null),
    keys: setting(names, ['OPENAI_API_KEY'], 'environment variables; several keys in one are separated by "|"'),
    backup_keys: setting(names, [], 'used while none of keys can be; <NAME>_BACKUP is read too'),
    rubric: setting(
      z.string().min(1).nullable(),
      null,
      'what is good and what is bad, in words; or the path of a .md or .txt file',
    ),
    reference_field: setting(z.string().min(1).nullable(), null, "field of the task's metadata that the judge may see"),
    scale: setting(z.number().positive(), 10, 'the highest score; the reward is score / scale'),
    success_from: setting(z.number().min(0).max(1), 0.7, 'reward from which an episode is a success'),
    votes: setting(count.max(15), 1, 'verdicts asked for; the reward is their mean'),
    temperature: setting(z.number().min(0).max(2), 0),
    max_tokens: setting(count, 500, 'of a verdict'),
    ...answerSource,
    on_outage: setting(
      z.enum(['pause', 'drop']),
      'pause',
      'pause: episodes wait for the judge; drop: they are left out',
    ),
    max_concurrent: setting(count, 8, 'requests at the same time'),
    requests_per_minute: setting(count.nullable(), null),
    tokens_per_minute: setting(count.nullable(), null),
    timeout: setting(z.number().positive(), 60, 'seconds for one request'),
  }),
  async open(section, { config }) {
    const { model, rubric } = section;
    if (model === null || rubric === null)
      throw new ConfigError(
        'bad_judge',
        `task_judge.llm.${model === null ? 'model' : 'rubric'} is not set. A language model that judges needs a model and a rubric.`,
      );
    const { experimentDir, experimentName } = config;
    const [{ openModelClient }, { createLlmJudge }] = await Promise.all([
      import('@agentjet/model-client'),
      import('./llm-judge.js'),
    ]);
    const client = await openModelClient({
      baseUrl: section.baseUrl,
      model,
      keys: section.keys,
      backupKeys: section.backupKeys,
      limits: {
        maxConcurrent: section.maxConcurrent,
        requestsPerMinute: section.requestsPerMinute,
        tokensPerMinute: section.tokensPerMinute,
        timeoutSeconds: section.timeout,
        maxRetries: 4,
      },
      cacheFile: path.join(experimentDir, experimentName, 'judge-answers.jsonl'),
    });
    return createLlmJudge(client, { ...section, rubric: readRubric(rubric) });
  },
});

function readRubric(rubric: string): string {
  if (!/^[^\n]+\.(md|txt)$/.test(rubric)) return rubric;
  if (existsSync(rubric)) return readFileSync(rubric, 'utf8');
  throw new ConfigError('missing_file', `task_judge.llm.rubric names ${rubric}, which does not exist.`);
}
