import path from 'node:path';
import { setting, z, type CommonConfig, type SectionOf } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';

const count = z.number().int().positive();
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'the name of an environment variable, not a key' }),
);

/** Settings of every judge that asks a language model: which one, with which keys, and how much. */
export const modelSettings = {
  base_url: setting(z.string().min(1), 'https://api.openai.com/v1', 'any OpenAI-compatible server'),
  model: setting(z.string().min(1).nullable(), null),
  keys: setting(
    names.nullable(),
    null,
    'environment variables, such as [DASHSCOPE_API_KEY]; several keys in one are separated by "|"; null: OPENAI_API_KEY, or DASHSCOPE_API_KEY for a server of aliyuncs.com',
  ),
  backup_keys: setting(names, [], 'used while none of keys can be; <NAME>_BACKUP is read too'),
};

export const modelLimits = {
  max_concurrent: setting(count, 8, 'requests at the same time'),
  requests_per_minute: setting(count.nullable(), null),
  tokens_per_minute: setting(count.nullable(), null),
  timeout: setting(z.number().positive(), 60, 'seconds for one request'),
};

export const onOutage = ['pause', 'drop', 'stop'] as const;

export const outageSetting = {
  on_outage: setting(
    z.enum(onOutage),
    'pause',
    'pause: episodes wait for the judge; drop: they are left out; stop: the run ends',
  ),
};

type Section = SectionOf<z.ZodObject<typeof modelSettings & typeof modelLimits>>;

/** The client of these settings. Its answers are kept beside the experiment. */
export async function openJudgeModel(
  section: Omit<Section, 'model'> & { readonly model: string },
  { experimentDir, experimentName }: Pick<CommonConfig, 'experimentDir' | 'experimentName'>,
): Promise<ModelClient> {
  const { baseUrl, model, keys, backupKeys, maxConcurrent, requestsPerMinute, tokensPerMinute, timeout } = section;
  const { openModelClient } = await import('@agentjet/model-client');
  return openModelClient({
    baseUrl,
    model,
    keys,
    backupKeys,
    limits: { maxConcurrent, requestsPerMinute, tokensPerMinute, timeoutSeconds: timeout, maxRetries: 4 },
    cacheFile: path.join(experimentDir, experimentName, 'judge-answers.jsonl'),
  });
}
