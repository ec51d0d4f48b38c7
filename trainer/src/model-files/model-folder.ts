/**
 * Reads and writes model folders in the Hugging Face layout: config.json, tokenizer files, and weights in
 * model.safetensors or in shards that model.safetensors.index.json names. It has no code for architectures: callers
 * request tensors by name and shape.
 */

import { copyFile, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject, type JsonObject } from '@agentjet/core';
import { describeFileError, restoreReplacedDir, writeDirAtomically } from '@agentjet/run-folder';
import { badFile, readTensorEntries, readTensorInto, readTensorPieces, writeSafetensors } from './safetensors.js';
import type { NamedTensor, TensorEntry } from './safetensors.js';

/** A model folder whose headers were read. `readTensor` reads the tensors one by one. */
export type ModelFolder = {
  readonly dir: string;
  /** The content of config.json. */
  readonly config: JsonObject;
  readonly tensors: ReadonlyMap<string, TensorEntry>;
};

const weightsFile = 'model.safetensors';
const indexFile = 'model.safetensors.index.json';
/** The other files of a model: tokenizer, chat template, generation settings. */
const companionFiles = new Set([
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
  'chat_template.jinja',
  'chat_template.json',
  'generation_config.json',
]);

/**
 * Reads config.json and the tensor headers. Rejects with BackboneError `bad_model_files`, with the file in its message.
 */
export async function readModelFolder(dir: string): Promise<ModelFolder> {
  await restoreReplacedDir(dir);
  if (!(await isPresent(dir)))
    throw new BackboneError('bad_model_files', `There is no model folder at ${path.resolve(dir)}.`);
  const config = await readJsonObject(path.join(dir, 'config.json'));
  const files = await readWeightFiles(dir);
  const entries = (await Promise.all(files.map((file) => readTensorEntries(path.join(dir, file))))).flat();
  return { dir, config, tensors: new Map(entries.map((entry) => [entry.name, entry])) };
}

/** Fills `data` with the tensor of that name, which must have that shape. */
export async function readTensor(folder: ModelFolder, tensor: NamedTensor): Promise<void> {
  await readTensorInto(entryOf(folder, tensor), tensor.data);
}

/** Yields the tensor of that name, which must have that shape, in pieces of `numValues` elements or fewer. */
export async function* readInPieces(
  folder: ModelFolder,
  tensor: Pick<NamedTensor, 'name' | 'shape'>,
  numValues: number,
): AsyncGenerator<Float32Array> {
  yield* readTensorPieces(entryOf(folder, tensor), numValues);
}

function entryOf({ dir, tensors }: ModelFolder, { name, shape }: Pick<NamedTensor, 'name' | 'shape'>): TensorEntry {
  const entry = tensors.get(name);
  if (entry === undefined) {
    throw new BackboneError(
      'bad_model_files',
      `The weights in ${dir} have no tensor "${name}" (they have ${tensors.size} others). Either config.json is from another model, or a shard is missing. Copy or download the whole folder again.`,
    );
  }
  if (entry.shape.join() !== shape.join()) {
    throw badFile(
      entry.file,
      `tensor "${name}" has shape [${entry.shape.join(', ')}], but config.json asks for [${shape.join(', ')}]`,
    );
  }
  return entry;
}

/** The contents that `writeModelFolder` writes. */
export type ModelFolderContent = {
  /** The whole content of config.json. */
  readonly config: JsonObject;
  readonly tensors: readonly NamedTensor[];
  /** The folder to take tokenizer and template files from. */
  readonly companionsFrom?: string;
  /** Writes more files into the folder before it appears. */
  readonly writeMore?: (temporaryDir: string) => Promise<void>;
};

/** Writes a complete model folder, or none (see writeDirAtomically). Rejects with BackboneError `checkpoint`. */
export async function writeModelFolder(dir: string, content: ModelFolderContent): Promise<void> {
  await writeWholeFolder(dir, async (temporaryDir) => {
    if (content.companionsFrom !== undefined) await copyCompanions(content.companionsFrom, temporaryDir);
    await writeFile(path.join(temporaryDir, 'config.json'), `${JSON.stringify(content.config, null, 2)}\n`);
    await writeSafetensors(path.join(temporaryDir, weightsFile), content.tensors);
    await content.writeMore?.(temporaryDir);
  });
}

/** Writes the folder that `fill` fills, or none. Rejects with BackboneError `checkpoint`. */
export async function writeWholeFolder(dir: string, fill: (temporaryDir: string) => Promise<void>): Promise<void> {
  try {
    await writeDirAtomically(dir, fill);
  } catch (error) {
    if (error instanceof BackboneError) throw error;
    throw new BackboneError(
      'checkpoint',
      `${describeFileError(path.resolve(dir), error, 'another folder')} Earlier contents are unchanged.`,
      { cause: error },
    );
  }
}

/** Copies tokenizer, template and generation settings from one model folder to another. */
export async function copyCompanions(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const file = path.join(from, name);
    // Use stat, which follows links, because files in the cache of the hub are links.
    if (companionFiles.has(name) && (await stat(file)).isFile()) await copyFile(file, path.join(to, name));
  }
}

async function readWeightFiles(dir: string): Promise<readonly string[]> {
  if (await isPresent(path.join(dir, weightsFile))) return [weightsFile];
  if (!(await isPresent(path.join(dir, indexFile)))) {
    throw new BackboneError(
      'bad_model_files',
      `The model folder ${path.resolve(dir)} has neither ${weightsFile} nor ${indexFile}; weights in other formats are not read.`,
    );
  }
  const file = path.join(dir, indexFile);
  const { weight_map: map } = await readJsonObject(file);
  if (typeof map !== 'object' || map === null) throw badFile(file, 'it has no "weight_map"');
  const shards = new Set(Object.values(map));
  return [...shards].map((shard) => {
    if (typeof shard === 'string' && shard === path.basename(shard)) return shard;
    throw badFile(file, `its "weight_map" names ${JSON.stringify(shard)} as a file`);
  });
}

async function readJsonObject(file: string): Promise<JsonObject> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw badFile(
      file,
      error.code === 'ENOENT'
        ? 'the file is missing. Use a folder in the Hugging Face layout: config.json, tokenizer.json, tokenizer_config.json, *.safetensors'
        : error.message,
      error,
    );
  });
  try {
    const json: unknown = JSON.parse(text);
    if (isJsonObject(json)) return json;
  } catch (error) {
    throw badFile(file, `it is not JSON (${(error as Error).message})`, error);
  }
  throw badFile(file, 'it is not a JSON object');
}

async function isPresent(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
