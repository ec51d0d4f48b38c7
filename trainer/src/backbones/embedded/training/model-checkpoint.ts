/**
 * Opens a model from a Hugging Face folder, and saves and loads it together with the state that training needs to
 * continue.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import { BackboneError, parseJsonObject } from '@agentjet/core';
import type { OptimizerOptions } from '@agentjet/core';
import { readModelFolder, readTensor, writeModelFolder } from '../../../model-files/model-folder.js';
import { readTensorEntries, readTensorInto, writeSafetensors } from '../../../model-files/safetensors.js';
import { parseModelConfig } from './model/model-config.js';
import { countParameters, parameterLayout } from './model/parameter-layout.js';
import { OnnxModel } from './onnx-model.js';
import type { ModelFolder } from '../../../model-files/model-folder.js';
import type { NamedTensor } from '../../../model-files/safetensors.js';
import type { ParameterLayout } from './model/parameter-layout.js';
import type { FloatArray } from './optimizer/optimizer-memory.js';

export type OpenOnnxModelOptions = {
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly threads?: number;
};

const stateDir = 'trainer_state';
const momentsFile = 'moments.safetensors';
const stepFile = 'state.json';
const momentNames = ['firstMoments', 'secondMoments'] as const;

/**
 * Rejects with BackboneError `bad_model_files` or `unsupported_model`. The folder is read a second time when a KL term
 * first needs the frozen reference.
 */
export async function openOnnxModel({ modelDir, optimizer, threads }: OpenOnnxModelOptions): Promise<OnnxModel> {
  const folder = await readModelFolder(modelDir);
  const config = parseModelConfig(folder.config);
  const layout = parameterLayout(config);
  refuseTooLarge(modelDir, layout);
  const readWeights = () => readParameters(folder, layout);
  return new OnnxModel({
    config,
    weights: await readWeights(),
    optimizer,
    readReference: readWeights,
    ...(threads === undefined ? {} : { threads }),
  });
}

/** Counts the weights in single precision, and the buffer into which they are read. Training needs twice as much. */
function refuseTooLarge(modelDir: string, layout: ParameterLayout): void {
  const [needed, present] = [2 * 4 * layout.length, totalmem()].map((bytes) => (bytes / 2 ** 30).toFixed(1));
  if (2 * 4 * layout.length <= totalmem()) return;
  throw new BackboneError(
    'unsupported_model',
    `The model in ${modelDir} has ${countParameters(layout)} parameters and needs ${needed} GiB of memory to open; this machine has ${present} GiB. Choose a smaller model, or the torch backbone.`,
  );
}

/**
 * Writes a model folder with `trainer_state/` inside, whole or not at all. Tokenizer files come from `modelDir`.
 * Rejects with BackboneError `checkpoint`.
 */
export async function saveOnnxModel(
  model: OnnxModel,
  options: { readonly modelDir: string; readonly dir: string },
): Promise<void> {
  const { config } = await readModelFolder(options.modelDir);
  await model.withState((state) =>
    writeModelFolder(options.dir, {
      // Write the dtype under both names. Transformers 5 uses `dtype`, and version 4 reads only `torch_dtype`.
      config: { ...config, torch_dtype: 'float32', ...('dtype' in config ? { dtype: 'float32' } : {}) },
      tensors: namedTensors(model.layout, state.parameters),
      companionsFrom: options.modelDir,
      writeMore: async (temporaryDir) => {
        await mkdir(path.join(temporaryDir, stateDir));
        const moments = momentNames.flatMap((moment) => namedTensors(model.layout, state[moment], `${moment}.`));
        await writeSafetensors(path.join(temporaryDir, stateDir, momentsFile), moments);
        const progress = { format: 1, step: state.step, policy_version: state.policyVersion };
        await writeFile(path.join(temporaryDir, stateDir, stepFile), `${JSON.stringify(progress, null, 2)}\n`);
      },
    }),
  );
}

/**
 * Restores weights, moments, step and policy version. If that fails, the model is unchanged. Rejects with BackboneError
 * `bad_model_files` or `checkpoint`.
 */
export async function loadOnnxModel(model: OnnxModel, dir: string): Promise<void> {
  const folder = await readModelFolder(dir);
  const progress = await readProgress(dir);
  const parameters = await readParameters(folder, model.layout);
  const [firstMoments, secondMoments] = await readMoments(dir, model.layout);
  await model.restore({ parameters, firstMoments, secondMoments, ...progress });
}

async function readParameters(folder: ModelFolder, layout: ParameterLayout): Promise<Float32Array> {
  const weights = new Float32Array(layout.length);
  for (const tensor of namedTensors(layout, weights)) await readTensor(folder, tensor);
  return weights;
}

async function readMoments(dir: string, layout: ParameterLayout): Promise<readonly [Float32Array, Float32Array]> {
  const file = path.join(dir, stateDir, momentsFile);
  const entries = new Map((await readTensorEntries(file)).map((entry) => [entry.name, entry]));
  const moments = [new Float32Array(layout.length), new Float32Array(layout.length)] as const;
  for (const [index, moment] of momentNames.entries()) {
    for (const { name, data } of namedTensors(layout, moments[index === 0 ? 0 : 1], `${moment}.`)) {
      const entry = entries.get(name);
      if (entry === undefined || entry.numBytes !== data.byteLength)
        throw new BackboneError(
          'checkpoint',
          `${file} has no tensor "${name}" of ${data.length} numbers, so it was saved from another model. Resume with the model that the checkpoint was trained from.`,
        );
      await readTensorInto(entry, data);
    }
  }
  return moments;
}

async function readProgress(dir: string): Promise<{ readonly step: number; readonly policyVersion: number }> {
  const file = path.join(dir, stateDir, stepFile);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new BackboneError(
      'checkpoint',
      `Cannot resume from ${path.resolve(dir)}: it has no ${stateDir}/${stepFile}, so it is a model but not a checkpoint.`,
      { cause },
    );
  });
  const { step, policy_version: policyVersion } = parseJsonObject(text) ?? {};
  if (isCount(step) && isCount(policyVersion)) return { step, policyVersion };
  throw new BackboneError(
    'checkpoint',
    `Cannot resume from ${path.resolve(dir)}: ${stateDir}/${stepFile} is damaged (${JSON.stringify(text.slice(0, 80))}).`,
  );
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function namedTensors(layout: ParameterLayout, buffer: FloatArray, prefix = ''): readonly NamedTensor[] {
  if (!(buffer instanceof Float32Array)) throw new Error('Only single precision is saved.');
  return layout.parameters.map(({ name, shape, offset, size }) => ({
    name: `${prefix}${name}`,
    shape,
    data: buffer.subarray(offset, offset + size),
  }));
}
