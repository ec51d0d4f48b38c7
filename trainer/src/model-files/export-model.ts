import { constants, existsSync } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, textConfigOf } from '@agentjet/core';
import { describeFileError, writeDirAtomically } from '@agentjet/run-folder';
import { copyCompanions, readModelFolder } from './model-folder.js';
import { type Adapter, readAdapter } from './read-adapter.js';
import { readModelConfig } from './read-model-config.js';
import { badFile, overwriteTensor, readTensorInto, type TensorEntry } from './safetensors.js';

/**
 * A checkpoint as a plain model folder that transformers, vLLM and the converters of others open: config, tokenizer and weights, without the
 * state of the trainer, and with a low-rank adapter merged into the weights. Weights keep their dtype and their shards.
 */

export type ExportedModel = {
  readonly dir: string;
  /** Of the weights. */
  readonly numBytes: number;
  /** Tensors that an adapter has changed. */
  readonly numMerged: number;
};

/** The model that the adapter in a folder belongs to; undefined if there is no adapter. Rejects with BackboneError `bad_model_files`. */
export async function readBaseModel(dir: string): Promise<string | undefined> {
  return (await readAdapter(dir))?.baseModel;
}

/**
 * Writes `target` whole or not at all.
 * @param dir a model folder, or one of an adapter; then `baseDir` is the folder of its model
 * @throws BackboneError `bad_model_files`; `aborted` after the signal; `checkpoint` if `target` holds something or cannot be written
 */
export async function exportModel(
  dir: string,
  target: string,
  options: { readonly baseDir?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<ExportedModel> {
  const adapter = await readAdapter(dir);
  const weightsDir = adapter === undefined ? dir : (options.baseDir ?? adapter.baseModel);
  if (existsSync(target) && (await readdir(target)).length > 0)
    throw new BackboneError('checkpoint', `${path.resolve(target)} is not empty. Name a new folder.`);
  const stopIfAborted = (): void => {
    if (options.signal?.aborted === true)
      throw new BackboneError('aborted', `Stopped before all was written, so ${path.resolve(target)} was not made.`);
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

/** One tensor at a time, so that memory holds no model. */
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
        'it changes the LM head, and in this model the head is the embedding (tie_word_embeddings): no folder of it can hold both. Train without the head, or merge it with peft into a copy with tie_word_embeddings false',
      );
    if (weight === undefined)
      throw badFile(
        a.file,
        `it changes "${name}", which the model has not. Name the model it was trained from with --base`,
      );
    if (weight.shape.join() !== `${numOut},${numIn}` || b.shape[1] !== rank)
      throw badFile(
        a.file,
        `it changes "${name}" of shape [${numOut}, ${numIn}], which is [${weight.shape.join(', ')}] in the model. Name the model it was trained from with --base`,
      );
    const values = await readTensor(weight);
    addProduct(values, { a: await readTensor(a), b: await readTensor(b), rank, scale });
    await overwriteTensor(weight, values);
  }
}

const headWeight = 'lm_head.weight';

/** Published Qwen and Llama folders say so in config.json; then the head has no tensor. */
async function isTied(dir: string): Promise<boolean> {
  const config = (await readModelConfig(dir)) ?? {};
  const text = textConfigOf(config);
  return config['tie_word_embeddings'] === true || text['tie_word_embeddings'] === true;
}

async function readTensor(entry: TensorEntry): Promise<Float32Array> {
  const values = new Float32Array(entry.shape.reduce((product, size) => product * size, 1));
  await readTensorInto(entry, values);
  return values;
}

type Product = { readonly a: Float32Array; readonly b: Float32Array; readonly rank: number; readonly scale: number };

/** weight + scale b a, in place. */
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
