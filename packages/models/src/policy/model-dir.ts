import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, isBundledModel } from '@agentjet/core';
import { downloadModel, parseModelName, type ModelName } from '@agentjet/model-hub';
import { readModelSource } from '@agentjet/run-folder';
import { describeModelSource } from '../sources/describe-model-source.js';
import { findModelFormat } from '../sources/model-formats.js';
import { parseNamedModel } from '../sources/parse-named-model.js';
import { resolveNamedModel } from '../sources/resolve-named-model.js';
import { tellDownload } from '../sources/tell-download.js';
import { bundledModelDirs } from '../sources/known-models.js';

/** Throws if the folder is that of a run, because users easily mistake a run for the model that it made. */
function refuseRunFolder(folder: string, setting = 'model.path'): void {
  const pointer = path.join(folder, 'checkpoints', 'latest');
  if (existsSync(path.join(folder, 'config.json')) || !existsSync(pointer)) return;
  const checkpoint = path.join(folder, 'checkpoints', readFileSync(pointer, 'utf8').trim());
  throw new BackboneError(
    'bad_model_files',
    `${setting} ${folder} is the folder of a run, not of a model. Name one of its checkpoints; the last is ${checkpoint}.`,
  );
}

export type ModelDirOptions = {
  /** If false, the weights may be missing. Default: true. */
  readonly withWeights?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  /** The setting that names the model, for messages. Default: `model.path`. */
  readonly setting?: string;
};

/**
 * Returns the folder of the model that `model.path` names. If it is an existing folder or file, that is used. A GGUF
 * file is converted the first time. Otherwise it is a short name, or `org/name` of the Hugging Face hub, and the model
 * is downloaded unless it is in a cache. Rejects with BackboneError, as `downloadModel`, `resolveNamedModel` and the
 * formats do.
 */
export async function resolveModelDir(modelPath: string, options: ModelDirOptions): Promise<string> {
  if (existsSync(modelPath) && !isBundledModel(modelPath)) return openExisting(modelPath, options);
  const named = parseNamedModel(modelPath);
  if (named !== undefined) return noticing(await resolveNamedModel(named, options), modelPath, options);
  const name = parseModelName(modelPath);
  if (name === undefined) return findModelDir(modelPath, options.setting);
  const { withWeights = true, signal, onNotice } = options;
  const onProgress = tellDownload(modelPath, onNotice);
  try {
    return (await downloadModel(name, { withWeights, onNotice, onProgress, ...(signal && { signal }) })).dir;
  } catch (error) {
    throw signal?.aborted === true ? interrupted(name, error) : alsoNoFolder(modelPath, error);
  }
}

async function openExisting(modelPath: string, options: ModelDirOptions): Promise<string> {
  if (statSync(modelPath).isDirectory()) {
    refuseRunFolder(modelPath, options.setting);
    return modelPath;
  }
  const format = await findModelFormat(modelPath);
  if (format === undefined)
    throw new BackboneError(
      'bad_model_files',
      `${options.setting ?? 'model.path'} ${modelPath} is a file. Name the folder that holds config.json and the weights, or a GGUF file.`,
    );
  const { withWeights = true, signal, onNotice } = options;
  const { dir } = await format.open(modelPath, { withWeights, signal, onNotice });
  return noticing(dir, modelPath, options);
}

/** Reports the source of the weights each time they are opened, unless the user named their folder. */
async function noticing(dir: string, modelPath: string, options: ModelDirOptions): Promise<string> {
  const source = options.withWeights === false ? undefined : await readModelSource(dir);
  if (source !== undefined) options.onNotice(describeModelSource(modelPath, source));
  return dir;
}

function interrupted({ id }: ModelName, cause: unknown): BackboneError {
  return new BackboneError(
    'aborted',
    `The download of ${id} was stopped. The downloaded part is kept: the same command resumes from there.`,
    { cause },
  );
}

const mayBeMistyped = new Set(['model_not_found', 'hub_unreachable', 'hub_offline']);

/** Adds to the message that there is no such folder, because a mistyped folder path looks like a name of the hub. */
function alsoNoFolder(modelPath: string, error: unknown): unknown {
  if (!(error instanceof BackboneError) || !mayBeMistyped.has(error.code)) return error;
  return new BackboneError(error.code, `There is no folder ${modelPath}${placesOf(modelPath)}. ${error.message}`, {
    cause: error,
  });
}

function placesOf(modelPath: string): string {
  return path.isAbsolute(modelPath) ? '' : `, neither next to the YAML file nor in ${process.cwd()}`;
}

/** Refuses a string that is neither a folder nor a name of the hub. Throws BackboneError `bad_model_files`. */
function findModelDir(modelPath: string, setting = 'model.path'): string {
  if (isBundledModel(modelPath)) return bundledModelDirs[modelPath];
  const repair =
    'Correct the path, use a name of the Hugging Face hub such as Qwen/Qwen2.5-0.5B-Instruct, or "nano" or "micro", the tiny included models.';
  throw new BackboneError(
    'bad_model_files',
    `There is no model folder ${modelPath} (${setting})${placesOf(modelPath)}. ${repair}`,
  );
}
