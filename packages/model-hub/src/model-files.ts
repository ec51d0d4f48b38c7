import { BackboneError, parseJsonObject } from '@agentjet/core';

/** Which files of a repository a model needs here: no other weights, no images, no second copy for another library. */

/** A file as the hub describes it. */
export type HubFile = {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** The name of its blob in the cache: its sha256 (large files) or its git hash. */
  readonly etag: string;
};

/** Without these no model can be opened. */
export const requiredFiles = ['config.json', 'tokenizer.json'] as const;

/** Models have some of them. A cache says of each whether it exists. */
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

/** The small files, which say what the model is. Throws BackboneError `bad_model_files` if a required one is missing. */
export function chooseDescription(model: string, files: readonly HubFile[]): readonly HubFile[] {
  const missing = requiredFiles.find((name) => !files.some(({ path }) => path === name));
  if (missing !== undefined) throw lacks(model, missing, files);
  return files.filter(({ path }) => described.has(path));
}

/** The files of the weights: one, or the index. Throws BackboneError `bad_model_files` if there are none. */
export function chooseWeights(model: string, files: readonly HubFile[]): HubFile {
  const found = [weightsFile, indexFile].map((name) => files.find(({ path }) => path === name));
  const weights = found.find((file) => file !== undefined);
  if (weights === undefined) throw lacks(model, weightsFile, files);
  return weights;
}

/** The names in an index. Throws BackboneError `bad_model_files` for an index that names other than files next to it. */
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
