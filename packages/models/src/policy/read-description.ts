import path from 'node:path';
import { BackboneError, type JsonObject } from '@agentjet/core';
import { readModelConfig } from '@agentjet/trainer';

/**
 * Returns config.json of a model folder. Rejects with BackboneError `bad_model_files` if there is none. The message names
 * `setting`.
 */
export async function readDescription(dir: string, setting = 'model.path'): Promise<JsonObject> {
  const description = await readModelConfig(dir);
  if (description !== undefined) return description;
  throw new BackboneError(
    'bad_model_files',
    `${path.join(dir, 'config.json')} (${setting}) is missing or holds no JSON object. Name a folder in the Hugging Face layout.`,
  );
}
