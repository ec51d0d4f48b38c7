import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseJsonObject, type JsonObject } from '@agentjet/core';

/**
 * What the config.json of a model folder says. A folder of an adapter has none: transformers would take it for a whole model. Then that of
 * the model counts which the adapter names, if it is a folder. Undefined if there is none.
 */
export async function readModelConfig(dir: string): Promise<JsonObject | undefined> {
  const own = await readObject(dir, 'config.json');
  if (own !== undefined) return own;
  const { base_model_name_or_path: base } = (await readObject(dir, 'adapter_config.json')) ?? {};
  return typeof base === 'string' ? readObject(base, 'config.json') : undefined;
}

async function readObject(dir: string, name: string): Promise<JsonObject | undefined> {
  return parseJsonObject(await readFile(path.join(dir, name), 'utf8').catch(() => ''));
}
