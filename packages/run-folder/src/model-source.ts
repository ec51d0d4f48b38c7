import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, parseJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Returns the source of a model folder's weights: `{ "from": "hub", "id", "commit", "sha256" }`, or the content of the
 * folder's `model_source.json`, such as `{ "from": "gguf", "file", "sha256", "quantized", ... }`. Undefined for other
 * folders.
 */
export async function readModelSource(dir: string): Promise<JsonObject | undefined> {
  const written = parseJsonObject(await readFile(path.join(dir, modelSourceFile), 'utf8').catch(() => ''));
  return isJsonObject(written) ? written : readHubSource(dir);
}

/** This file is written into a model folder that was made from another source. */
export const modelSourceFile = 'model_source.json';

/**
 * Reads the source from the paths of the hub's cache. They contain the repository, the commit, and for weights the
 * SHA-256.
 */
async function readHubSource(dir: string): Promise<JsonObject | undefined> {
  const [, id, commit] = /models--([^/\\]+)[/\\]snapshots[/\\](\w+)$/.exec(path.resolve(dir)) ?? [];
  if (id === undefined || commit === undefined) return undefined;
  const blob = await realpath(path.join(dir, 'model.safetensors')).catch(() => '');
  const sha256 = /^[0-9a-f]{64}$/.exec(path.basename(blob))?.[0];
  return { from: 'hub', id: id.replace('--', '/'), commit, ...(sha256 === undefined ? {} : { sha256 }) };
}
