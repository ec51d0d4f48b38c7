/**
 * Opens a model from a Hugging Face folder, and saves and loads it together with the state that training needs to
 * continue.
 */

import { totalmem } from 'node:os';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import type { OptimizerOptions } from '@agentjet/core';
import { readAdapter } from '../../../model-files/read-adapter.js';
import { readInPieces, readModelFolder, readTensor, writeModelFolder } from '../../../model-files/model-folder.js';
import { parseModelConfig } from './model/model-config.js';
import { countParameters, parameterLayout } from './model/parameter-layout.js';
import { OnnxModel } from './onnx-model.js';
import type { ModelFolder } from '../../../model-files/model-folder.js';
import type { LoraOptions } from '../../lora-options.js';
import { loadAdapter, readStart, saveAdapter } from './adapter/adapter-checkpoint.js';
import { adapterForm, noAdapter } from './adapter/adapter-form.js';
import type { FrozenBase } from './adapter/frozen-base.js';
import { readFrozenWeights, storedBytes, type ReadPieces, type WeightFormat } from './frozen/frozen-weights.js';
import { WeightFiles } from './frozen/weight-files.js';
import { initialAdapter } from './adapter/initial-adapter.js';
import { namedTensors, readState, writeTrainerState } from './trainer-state.js';
import type { ParameterLayout } from './model/parameter-layout.js';

export type OpenOnnxModelOptions = {
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly threads?: number;
  /** If present, an adapter is trained instead of all weights. It is new, or `lora.start`. */
  readonly adapter?: { readonly lora: LoraOptions; readonly seed: number };
  /** How weights that no step changes are stored. Defaults to float32. Without an adapter, a model in another format cannot be trained. */
  readonly frozenWeights?: WeightFormat;
};

/**
 * Rejects with BackboneError `bad_model_files` or `unsupported_model`. The folder is read a second time when a KL term
 * first needs the frozen reference.
 */
export async function openOnnxModel(options: OpenOnnxModelOptions): Promise<OnnxModel> {
  const { modelDir, optimizer, threads, adapter, frozenWeights: format = 'float32' } = options;
  const folder = await readModelFolder(modelDir);
  const config = parseModelConfig(folder.config);
  const layout = parameterLayout(config);
  refuseTooLarge(modelDir, layout, format);
  const readWeights = () => readParameters(folder, layout);
  const shared = { config, optimizer, ...(threads === undefined ? {} : { threads }) };
  if (adapter === undefined && format === 'float32')
    return new OnnxModel({ ...shared, weights: await readWeights(), readReference: readWeights });
  const form = adapter === undefined ? noAdapter : adapterForm(layout, adapter.lora);
  const start = adapter?.lora.start;
  return new OnnxModel({
    ...shared,
    weights: start === undefined ? initialAdapter(form, adapter?.seed ?? 0) : await readStart(form, start),
    base: {
      adapter: form,
      layout,
      weights: await storeWeights(layout, format, {
        read: (parameter, numValues) => readInPieces(folder, parameter, numValues),
        isTrained: adapter !== undefined,
      }),
    },
  });
}

/** A model that is trained reads its weights in each step, so they are in memory. */
async function storeWeights(
  layout: ParameterLayout,
  format: WeightFormat,
  { read, isTrained }: { readonly read: ReadPieces; readonly isTrained: boolean },
): Promise<FrozenBase['weights']> {
  if (!isTrained && format !== 'float32')
    try {
      return await WeightFiles.store(layout, format, read);
    } catch (error) {
      if (error instanceof BackboneError) throw error;
      // The disk may be full or read-only. The weights in memory are the same.
    }
  return readFrozenWeights(layout, format, read);
}

/** Counts the weights, and either the buffer into which they are read or the copy of the sampler. */
function refuseTooLarge(modelDir: string, layout: ParameterLayout, format: WeightFormat): void {
  const bytes = 2 * storedBytes(layout, format);
  const [needed, present] = [bytes, totalmem()].map((size) => (size / 2 ** 30).toFixed(1));
  if (bytes <= totalmem()) return;
  throw new BackboneError(
    'unsupported_model',
    `The model in ${modelDir} has ${countParameters(layout)} parameters and needs ${needed} GiB of memory to open; this machine has ${present} GiB. Choose a smaller model, or the torch backbone.`,
  );
}

/**
 * Writes a model folder or the folder of an adapter, with `trainer_state/` inside. If writing fails, no folder is left.
 * Tokenizer files come from `modelDir`. Rejects with BackboneError `checkpoint`.
 */
export async function saveOnnxModel(
  model: OnnxModel,
  options: { readonly modelDir: string; readonly dir: string },
): Promise<void> {
  if (model.base?.adapter === noAdapter)
    throw new BackboneError(
      'checkpoint',
      `The model of ${options.modelDir} is open in ${model.base.weights.format} and only answers. It has no trained weights to save; copy the folder instead.`,
    );
  if (model.base !== undefined) return await saveAdapter(model, model.base.adapter, options);
  const { config } = await readModelFolder(options.modelDir);
  await model.withState((state) =>
    writeModelFolder(options.dir, {
      // Write the dtype under both names. Transformers 5 uses `dtype`, and version 4 reads only `torch_dtype`.
      config: { ...config, torch_dtype: 'float32', ...('dtype' in config ? { dtype: 'float32' } : {}) },
      tensors: namedTensors(model.layout, state.parameters),
      companionsFrom: options.modelDir,
      writeMore: (temporaryDir) => writeTrainerState(temporaryDir, model.layout, state),
    }),
  );
}

/**
 * Restores weights, moments, step and policy version. If that fails, the model is unchanged. Rejects with BackboneError
 * `bad_model_files` or `checkpoint`.
 */
export async function loadOnnxModel(model: OnnxModel, dir: string): Promise<void> {
  if (model.base !== undefined) return await loadAdapter(model, model.base.adapter, dir);
  await refuseAdapter(dir);
  const folder = await readModelFolder(dir);
  await model.restore(await readState(dir, model.layout, () => readParameters(folder, model.layout)));
}

async function refuseAdapter(dir: string): Promise<void> {
  if ((await readAdapter(dir)) === undefined) return;
  throw new BackboneError(
    'checkpoint',
    `Cannot resume from ${path.resolve(dir)}: it has an adapter (LoRA), but all weights are trained here (lora.rank is 0). Resume with the lora settings of the run that saved it.`,
  );
}

async function readParameters(folder: ModelFolder, layout: ParameterLayout): Promise<Float32Array> {
  const weights = new Float32Array(layout.length);
  for (const tensor of namedTensors(layout, weights)) await readTensor(folder, tensor);
  return weights;
}
