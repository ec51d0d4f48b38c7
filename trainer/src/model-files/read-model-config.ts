import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Reads the config.json of a model folder. The folder of an adapter has no config.json, because transformers would take
 * it for a whole model. For such a folder, reads the config of the adapter's model, if the adapter names a folder.
 * Returns undefined if there is no config.json.
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
