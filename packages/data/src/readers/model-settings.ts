import { ConfigError, setting, z } from '@agentjet/core';
import type { ModelClientOptions } from '@agentjet/model-client';

const count = z.int().positive();
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'the name of an environment variable, not a key' }),
);

/** A model that helps to make or to choose tasks, at an OpenAI-compatible server. */
export const modelSettings = z.strictObject({
  base_url: setting(z.string().min(1), 'https://api.openai.com/v1', 'any OpenAI-compatible server'),
  name: setting(z.string().min(1).nullable(), null),
  keys: setting(
    names.nullable(),
    null,
    'environment variables, such as [DASHSCOPE_API_KEY]; several keys in one are separated by "|"; null: OPENAI_API_KEY, or DASHSCOPE_API_KEY for a server of aliyuncs.com',
  ),
  backup_keys: setting(names, [], 'used while none of keys can be; <NAME>_BACKUP is read too'),
  temperature: setting(z.number().min(0).max(2), 0.7),
  max_tokens: setting(count, 1000, 'of an answer'),
  max_concurrent: setting(count, 8, 'requests at the same time'),
  requests_per_minute: setting(count.nullable(), null),
  tokens_per_minute: setting(count.nullable(), null),
  timeout: setting(z.number().positive(), 120, 'seconds for one request'),
});

/** The section as a reader's `open` gets it. */
export type ModelSection = {
  readonly baseUrl: string;
  readonly name: string | null;
  readonly keys: readonly string[] | null;
  readonly backupKeys: readonly string[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly maxConcurrent: number;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly timeout: number;
};

/** Throws ConfigError `no_model`, naming `key`, if no model is named. */
export function toClientOptions(section: ModelSection, key: string, cacheFile: string): ModelClientOptions {
  const { name, keys, backupKeys, baseUrl, maxConcurrent, requestsPerMinute, tokensPerMinute, timeout } = section;
  if (name === null)
    throw new ConfigError(
      'no_model',
      `${key}.name is not set. Name the model that is asked, and its server in ${key}.base_url.`,
    );
  const limits = { maxConcurrent, requestsPerMinute, tokensPerMinute, timeoutSeconds: timeout, maxRetries: 4 };
  return { baseUrl, model: name, keys, backupKeys, limits, cacheFile };
}
