import { BackboneError, parseJsonObject } from '@agentjet/core';

/**
 * Chooses the files of a repository that a model needs here. It leaves out other weights, images, and copies for other
 * libraries.
 */

/** A file as the hub describes it. */
export type HubFile = {
  readonly path: string;
  /** The size in bytes. */
  readonly size: number;
  /** The name of its blob in the cache: its sha256 (large files) or its git hash. */
  readonly etag: string;
};

/** Files without which a model cannot be opened. */
export const requiredFiles = ['config.json', 'tokenizer.json'] as const;

/** Files that only some models have. A cache records for each whether it exists. */
export const optionalFiles = [
  'tokenizer_config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
] as const;

export const weightsFile = 'model.safetensors';
export const indexFile = 'model.safetensors.index.json';

const described: ReadonlySet<string> = new Set([...requiredFiles, ...optionalFiles]);
const shardName = /^\w[\w.-]*\.safetensors$/;

/**
 * Returns the small files that describe the model. Throws BackboneError `bad_model_files` if a required one is missing.
 */
export function chooseDescription(model: string, files: readonly HubFile[]): readonly HubFile[] {
  const missing = requiredFiles.find((name) => !files.some(({ path }) => path === name));
  if (missing !== undefined) throw lacks(model, missing, files);
  return files.filter(({ path }) => described.has(path));
}

/** Returns the file of the weights, or their index. Throws BackboneError `bad_model_files` if there are none. */
export function chooseWeights(model: string, files: readonly HubFile[]): HubFile {
  const found = [weightsFile, indexFile].map((name) => files.find(({ path }) => path === name));
  const weights = found.find((file) => file !== undefined);
  if (weights === undefined) throw lacks(model, weightsFile, files);
  return weights;
}

/** Reads the names in an index. Throws BackboneError `bad_model_files` if a name is not a file next to the index. */
export function readShardNames(model: string, indexText: string): readonly string[] {
  const shards = [...new Set(Object.values(weightMapOf(indexText)))];
  const isRight = (shard: unknown): shard is string => typeof shard === 'string' && shardName.test(shard);
  if (shards.length > 0 && shards.every(isRight)) return shards;
  const seen = JSON.stringify(shards.find((shard) => !isRight(shard)) ?? null);
  throw new BackboneError('bad_model_files', `${indexFile} of ${model} names ${seen} as a file of weights.`);
}

function weightMapOf(text: string): object {
  const map = parseJsonObject(text)?.['weight_map'];
  return typeof map === 'object' && map !== null ? map : {};
}

function lacks(model: string, file: string, files: readonly HubFile[]): BackboneError {
  const weights = files.map(({ path }) => path).filter((name) => /\.(bin|gguf|safetensors|pt|onnx)$/.test(name));
  const seen = weights.length === 0 ? '' : ` It has ${weights.slice(0, 3).join(', ')}.`;
  return new BackboneError(
    'bad_model_files',
    `${model} has no ${file}, so it cannot be trained here.${seen} Choose a repository in the layout of transformers: config.json, tokenizer.json, *.safetensors.`,
  );
}
