import { ConfigError, setting, z, type SectionOf } from '@agentjet/core';
import type { ModelClientOptions } from './model-client.js';

const count = z.int().positive();
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'the name of an environment variable, not a key' }),
);

/** Settings of an OpenAI-compatible server. */
export const serverSettings = {
  base_url: setting(z.string().min(1), 'https://api.openai.com/v1', 'address of an OpenAI-compatible server'),
  keys: setting(
    names.nullable(),
    null,
    'environment variables, such as [DASHSCOPE_API_KEY]; several keys in one are separated by "|"; null: OPENAI_API_KEY, or DASHSCOPE_API_KEY for a server of aliyuncs.com',
  ),
  backup_keys: setting(
    names,
    [],
    'environment variables with keys that are used only while no other key can be; <NAME>_BACKUP is read too',
  ),
};

/** Limits for the requests to the server. */
export const limitSettings = (timeout: number) => ({
  max_concurrent: setting(count, 8, 'maximum number of concurrent requests'),
  requests_per_minute: setting(count.nullable(), null),
  tokens_per_minute: setting(count.nullable(), null),
  timeout: setting(z.number().positive(), timeout, 'time limit of one request, in seconds'),
});

/** A model that helps to make or choose tasks. */
export const modelSettings = z.strictObject({
  base_url: serverSettings.base_url,
  name: setting(z.string().min(1).nullable(), null),
  keys: serverSettings.keys,
  backup_keys: serverSettings.backup_keys,
  temperature: setting(z.number().min(0).max(2), 0.7),
  max_tokens: setting(count, 1000, 'longest answer, in tokens'),
  ...limitSettings(120),
});

/** The section as a reader's `open` gets it. */
export type ModelSection = SectionOf<typeof modelSettings>;

type ServerSection = SectionOf<z.ZodObject<typeof serverSettings & ReturnType<typeof limitSettings>>>;

export function toServerOptions(section: ServerSection, model: string, cacheFile: string): ModelClientOptions {
  const { keys, backupKeys, baseUrl, maxConcurrent, requestsPerMinute, tokensPerMinute, timeout } = section;
  const limits = { maxConcurrent, requestsPerMinute, tokensPerMinute, timeoutSeconds: timeout, maxRetries: 4 };
  return { baseUrl, model, keys, backupKeys, limits, cacheFile };
}

/** Throws ConfigError `no_model`, which names `key`, if no model is set. */
export function toClientOptions(section: ModelSection, key: string, cacheFile: string): ModelClientOptions {
  if (section.name !== null) return toServerOptions(section, section.name, cacheFile);
  throw new ConfigError(
    'no_model',
    `${key}.name is not set. Name the model that is asked, and its server in ${key}.base_url.`,
  );
}
