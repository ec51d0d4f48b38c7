/** Reads and writes the state that training continues from, except for the trained parameters. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, parseJsonObject } from '@agentjet/core';
import { readTensorEntries, readTensorInto, writeSafetensors } from '../../../model-files/safetensors.js';
import type { NamedTensor } from '../../../model-files/safetensors.js';
import type { ParameterLayout } from './model/parameter-layout.js';
import type { OnnxModelState } from './onnx-model.js';
import type { FloatArray } from './optimizer/optimizer-memory.js';

const stateDir = 'trainer_state';
const momentsFile = 'moments.safetensors';
const stepFile = 'state.json';
const momentNames = ['firstMoments', 'secondMoments'] as const;

/** Writes `trainer_state/` into a folder. */
export async function writeTrainerState(dir: string, layout: ParameterLayout, state: OnnxModelState): Promise<void> {
  await mkdir(path.join(dir, stateDir));
  const moments = momentNames.flatMap((moment) => namedTensors(layout, state[moment], `${moment}.`));
  await writeSafetensors(path.join(dir, stateDir, momentsFile), moments);
  const progress = { format: 1, step: state.step, policy_version: state.policyVersion };
  await writeFile(path.join(dir, stateDir, stepFile), `${JSON.stringify(progress, null, 2)}\n`);
}

/** Reads a checkpoint whose parameters `readParameters` reads. Rejects with BackboneError `checkpoint`. */
export async function readState(
  dir: string,
  layout: ParameterLayout,
  readParameters: () => Promise<Float32Array>,
): Promise<OnnxModelState> {
  const progress = await readProgress(dir);
  const parameters = await readParameters();
  const [firstMoments, secondMoments] = await readMoments(dir, layout);
  return { parameters, firstMoments, secondMoments, ...progress };
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

/** Returns the parameters in a buffer by name. The arrays are views of the buffer. */
export function namedTensors(layout: ParameterLayout, buffer: FloatArray, prefix = ''): readonly NamedTensor[] {
  if (!(buffer instanceof Float32Array)) throw new Error('Only single precision is saved.');
  return layout.parameters.map(({ name, shape, offset, size }) => ({
    name: `${prefix}${name}`,
    shape,
    data: buffer.subarray(offset, offset + size),
  }));
}
