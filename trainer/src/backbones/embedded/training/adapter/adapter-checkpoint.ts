/**
 * Saves and loads an adapter in the layout of peft, with the state of the trainer. The folder has no config.json, because
 * transformers would read it as a whole model.
 */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { copyCompanions, writeWholeFolder } from '../../../../model-files/model-folder.js';
import {
  adapterConfigFile,
  adapterPrefix,
  adapterWeightsFile,
  readAdapter,
  readMatrix,
  type Adapter,
} from '../../../../model-files/read-adapter.js';
import { writeSafetensors } from '../../../../model-files/safetensors.js';
import type { OnnxModel } from '../onnx-model.js';
import { namedTensors, readState, writeTrainerState } from '../trainer-state.js';
import type { AdapterForm } from './adapter-form.js';

type Folders = { readonly modelDir: string; readonly dir: string };

/** Writes the whole folder or none. Rejects with BackboneError `checkpoint`. */
export async function saveAdapter(model: OnnxModel, form: AdapterForm, { modelDir, dir }: Folders): Promise<void> {
  await model.withState((state) =>
    writeWholeFolder(dir, async (temporaryDir) => {
      await copyCompanions(modelDir, temporaryDir);
      const config = `${JSON.stringify(peftConfig(form, path.resolve(modelDir)), null, 2)}\n`;
      await writeFile(path.join(temporaryDir, adapterConfigFile), config);
      const tensors = namedTensors(form.layout, state.parameters, adapterPrefix);
      await writeSafetensors(path.join(temporaryDir, adapterWeightsFile), tensors);
      await writeTrainerState(temporaryDir, form.layout, state);
    }),
  );
}

function peftConfig({ rank, alpha, targetModules }: AdapterForm, baseDir: string): object {
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseDir,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    bias: 'none',
    target_modules: targetModules,
    inference_mode: true,
  };
}

/**
 * Restores adapter, moments, step and policy version. If that fails, the model is unchanged. Rejects with BackboneError
 * `bad_model_files` or `checkpoint`.
 */
export async function loadAdapter(model: OnnxModel, form: AdapterForm, dir: string): Promise<void> {
  const adapter = await readAdapter(dir);
  if (adapter === undefined)
    throw new BackboneError(
      'checkpoint',
      `Cannot resume from ${path.resolve(dir)}: it has no ${adapterConfigFile}, but an adapter (LoRA) is trained here (lora.rank is ${form.rank}). Resume with the lora settings of the run that saved it.`,
    );
  const refuse = (difference: string): BackboneError => otherAdapter(dir, difference);
  await model.restore(await readState(dir, form.layout, () => readValues(adapter, form, refuse)));
}

/**
 * Reads the adapter that training begins with, shape [layout.length]. PEFT or a run may have written it. Rejects with
 * BackboneError `bad_model_files` if the folder has no adapter, or if it differs from the lora settings.
 */
export async function readStart(form: AdapterForm, dir: string): Promise<Float32Array> {
  const refuse = (difference: string): BackboneError =>
    new BackboneError(
      'bad_model_files',
      `Cannot begin with the adapter lora.adapter ${dir}: ${difference}. Name a folder that PEFT or a run has written, and set lora.rank, lora.alpha and lora.target_modules to the values of its ${adapterConfigFile}.`,
    );
  const adapter = await readAdapter(dir);
  if (adapter === undefined) throw refuse(`it has no ${adapterConfigFile}`);
  return await readValues(adapter, form, refuse);
}

async function readValues(
  adapter: Adapter,
  form: AdapterForm,
  refuse: (difference: string) => BackboneError,
): Promise<Float32Array> {
  const { changes, scale } = adapter;
  const values = new Float32Array(form.layout.length);
  if (!isSameScale(scale, form.scale))
    throw refuse(`its scale (alpha / rank) is ${scale}, not ${form.scale}${ofRoot(adapter)}`);
  if (changes.size !== form.modules.length)
    throw refuse(`it changes ${changes.size} matrices, not ${form.modules.length}`);
  for (const { name, shape, data } of namedTensors(form.layout, values)) {
    const [module = '', half] = name.split('.lora_');
    const pair = changes.get(`${module}.weight`);
    const entry = half?.startsWith('A') === true ? pair?.a : pair?.b;
    if (entry === undefined) throw refuse(`it has no "${name}"`);
    if (entry.shape.join() !== shape.join())
      throw refuse(`"${name}" has shape [${entry.shape.join(', ')}], not [${shape.join(', ')}]`);
    await readMatrix(entry, data);
  }
  return values;
}

/** Compares with a tolerance, because a scale that is divided by a root has no exact decimal. */
const isSameScale = (left: number, right: number): boolean => Math.abs(left - right) <= 1e-6 * Math.abs(right);

const ofRoot = ({ isRootScaled, alpha }: Adapter): string =>
  isRootScaled ? `, because it divides by the root of its rank (use_rslora). lora.alpha ${alpha} is the same` : '';

function otherAdapter(dir: string, difference: string): BackboneError {
  return new BackboneError(
    'checkpoint',
    `Cannot resume from ${path.resolve(dir)}: ${difference}. Use the model and the lora settings of the run that saved it.`,
  );
}
