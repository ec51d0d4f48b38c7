import { constants, existsSync } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, textConfigOf } from '@agentjet/core';
import { describeFileError, writeDirAtomically } from '@agentjet/run-folder';
import { copyCompanions, readModelFolder } from './model-folder.js';
import { type Adapter, adapterConfigFile, readAdapter, readMatrix } from './read-adapter.js';
import { readModelConfig } from './read-model-config.js';
import { badFile, overwriteTensor, readTensorInto, type TensorEntry } from './safetensors.js';

/**
 * Writes a checkpoint as a plain model folder that transformers, vLLM and other converters open. The folder has the
 * config, the tokenizer and the weights, but not the state of the trainer. A low-rank adapter is merged into the
 * weights. Weights keep their dtype and their shards.
 */

export type ExportedModel = {
  readonly dir: string;
  /** The number of bytes of the weights. */
  readonly numBytes: number;
  /** The number of tensors that an adapter has changed. */
  readonly numMerged: number;
};

/**
 * Returns the model that the adapter in a folder belongs to, or undefined if there is no adapter. Rejects with
 * BackboneError `bad_model_files`.
 */
export async function readBaseModel(dir: string): Promise<string | undefined> {
  const adapter = await readAdapter(dir);
  return adapter === undefined ? undefined : nameBase(adapter, dir);
}

function nameBase({ baseModel }: Adapter, dir: string): string {
  if (baseModel !== null) return baseModel;
  throw badFile(
    path.join(dir, adapterConfigFile),
    '"base_model_name_or_path" is missing. Merge the adapter with `ajet export` and --base, which names its model',
  );
}

/**
 * Writes `target` completely, or does not create it.
 * @param dir a model folder, or an adapter's folder; in the second case `baseDir` is the folder of its model
 * @throws BackboneError `bad_model_files`; `aborted` after the signal; `checkpoint` if `target` is not empty or cannot
 * be written
 */
export async function exportModel(
  dir: string,
  target: string,
  options: { readonly baseDir?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<ExportedModel> {
  const adapter = await readAdapter(dir);
  const weightsDir = adapter === undefined ? dir : (options.baseDir ?? nameBase(adapter, dir));
  if (existsSync(target) && (await readdir(target)).length > 0)
    throw new BackboneError('checkpoint', `${path.resolve(target)} is not empty. Name a new folder.`);
  const stopIfAborted = (): void => {
    if (options.signal?.aborted === true)
      throw new BackboneError(
        'aborted',
        `The export was stopped before it was complete, so ${path.resolve(target)} was not created.`,
      );
  };
  const files = [...new Set([...(await readModelFolder(weightsDir)).tensors.values()].map(({ file }) => file))];
  try {
    await writeDirAtomically(target, async (temporary) => {
      await copyCompanions(weightsDir, temporary);
      if (adapter !== undefined) await copyCompanions(dir, temporary);
      const index = path.join(weightsDir, 'model.safetensors.index.json');
      for (const file of [...files, path.join(weightsDir, 'config.json'), ...(existsSync(index) ? [index] : [])]) {
        stopIfAborted();
        await copyFile(file, path.join(temporary, path.basename(file)), constants.COPYFILE_FICLONE);
      }
      if (adapter !== undefined) await mergeAdapter(adapter, temporary, stopIfAborted);
      stopIfAborted();
    });
  } catch (error) {
    if (error instanceof BackboneError) throw error;
    const message = describeFileError(path.resolve(target), error, 'another folder');
    throw new BackboneError('checkpoint', message, { cause: error });
  }
  const { tensors } = await readModelFolder(target);
  const numBytes = [...tensors.values()].reduce((sum, entry) => sum + entry.numBytes, 0);
  return { dir: path.resolve(target), numBytes, numMerged: adapter?.changes.size ?? 0 };
}

/** Yields one tensor at a time, so memory never contains a whole model. */
async function mergeAdapter({ changes, scale }: Adapter, dir: string, stopIfAborted: () => void): Promise<void> {
  const { tensors } = await readModelFolder(dir);
  for (const [name, { a, b }] of changes) {
    stopIfAborted();
    const weight = tensors.get(name);
    const [rank = 0, numIn = 0] = a.shape;
    const [numOut = 0] = b.shape;
    if (name === headWeight && (await isTied(dir)))
      throw badFile(
        a.file,
        'it changes the LM head, but the head and the embedding of this model are one tensor (tie_word_embeddings), so a model folder cannot contain the changed head. Train without the head, or merge the adapter with peft into a copy with tie_word_embeddings false',
      );
    if (weight === undefined)
      throw badFile(
        a.file,
        `it changes "${name}", which the model does not have. Pass the model it was trained from with --base`,
      );
    if (weight.shape.join() !== `${numOut},${numIn}`)
      throw badFile(
        a.file,
        `it changes "${name}" of shape [${numOut}, ${numIn}], which is [${weight.shape.join(', ')}] in the model. Pass the model it was trained from with --base`,
      );
    const values = await readTensor(weight);
    addProduct(values, { a: await readTensor(a, readMatrix), b: await readTensor(b, readMatrix), rank, scale });
    await overwriteTensor(weight, values);
  }
}

const headWeight = 'lm_head.weight';

/**
 * Returns whether head and embedding are one tensor. Published Qwen and Llama folders declare this in config.json and
 * have no tensor for the head.
 */
async function isTied(dir: string): Promise<boolean> {
  const config = (await readModelConfig(dir)) ?? {};
  const text = textConfigOf(config);
  return config['tie_word_embeddings'] === true || text['tie_word_embeddings'] === true;
}

async function readTensor(entry: TensorEntry, readInto = readTensorInto): Promise<Float32Array> {
  const values = new Float32Array(entry.shape.reduce((product, size) => product * size, 1));
  await readInto(entry, values);
  return values;
}

type Product = { readonly a: Float32Array; readonly b: Float32Array; readonly rank: number; readonly scale: number };

/** Adds scale b a to the weight in place. */
function addProduct(weight: Float32Array, { a, b, rank, scale }: Product): void {
  const numIn = a.length / rank;
  const row = new Float64Array(numIn);
  for (let out = 0; out < b.length / rank; out++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = b[out * rank + k] ?? 0;
      for (let index = 0; index < numIn; index++) row[index] = (row[index] ?? 0) + factor * (a[k * numIn + index] ?? 0);
    }
    for (let index = 0; index < numIn; index++)
      weight[out * numIn + index] = (weight[out * numIn + index] ?? 0) + scale * (row[index] ?? 0);
  }
}
