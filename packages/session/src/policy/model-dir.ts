import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, isBundledModel } from '@agentjet/core';
import { downloadModel, parseModelName, type ModelName } from '@agentjet/model-hub';
import { bundledModelDirs } from './bundled-models.js';
import { tellDownload } from './tell-download.js';

/** A run is easily taken for the model that it made. */
function refuseRunFolder(folder: string): void {
  const pointer = path.join(folder, 'checkpoints', 'latest');
  if (existsSync(path.join(folder, 'config.json')) || !existsSync(pointer)) return;
  const checkpoint = path.join(folder, 'checkpoints', readFileSync(pointer, 'utf8').trim());
  throw new BackboneError(
    'bad_model_files',
    `model.path ${folder} is the folder of a run, not of a model. Name one of its checkpoints; the last is ${checkpoint}.`,
  );
}

export type ModelDirOptions = {
  /** False: the weights need not be there. True unless given. */
  readonly withWeights?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
};

/**
 * The folder of the model that `model.path` names. An existing folder wins; otherwise `org/name` is a model of the Hugging
 * Face hub, which is downloaded unless the cache has it. Rejects with BackboneError, as `downloadModel` does.
 */
export async function resolveModelDir(modelPath: string, options: ModelDirOptions): Promise<string> {
  const name = existsSync(modelPath) ? undefined : parseModelName(modelPath);
  if (name === undefined) return findModelDir(modelPath);
  const { withWeights = true, signal, onNotice } = options;
  const onProgress = tellDownload(modelPath, onNotice);
  try {
    return (await downloadModel(name, { withWeights, onNotice, onProgress, ...(signal && { signal }) })).dir;
  } catch (error) {
    throw signal?.aborted === true ? interrupted(name, error) : alsoNoFolder(modelPath, error);
  }
}

function interrupted({ id }: ModelName, cause: unknown): BackboneError {
  return new BackboneError(
    'aborted',
    `The download of ${id} was stopped. What has come is kept: the same command goes on from there.`,
    { cause },
  );
}

const mayBeMistyped = new Set(['model_not_found', 'hub_unreachable', 'hub_offline']);

/** A mistyped path of a folder is taken for a name of the hub, so the message says that there is no such folder. */
function alsoNoFolder(modelPath: string, error: unknown): unknown {
  if (!(error instanceof BackboneError) || !mayBeMistyped.has(error.code)) return error;
  return new BackboneError(error.code, `There is no folder ${modelPath}${placesOf(modelPath)}. ${error.message}`, {
    cause: error,
  });
}

function placesOf(modelPath: string): string {
  return path.isAbsolute(modelPath) ? '' : `, neither next to the YAML file nor in ${process.cwd()}`;
}

/** The folder that `model.path` means, if it is one of this machine. Throws BackboneError `bad_model_files`. */
function findModelDir(modelPath: string): string {
  if (isBundledModel(modelPath)) return bundledModelDirs[modelPath];
  if (existsSync(modelPath)) {
    if (!statSync(modelPath).isDirectory())
      throw new BackboneError(
        'bad_model_files',
        `model.path ${modelPath} is a file. Name the folder that holds config.json and the weights.`,
      );
    refuseRunFolder(modelPath);
    return modelPath;
  }
  const repair =
    'Correct the path, use a name of the Hugging Face hub such as Qwen/Qwen2.5-0.5B-Instruct, or "nano" or "micro", the tiny models that come along.';
  throw new BackboneError(
    'bad_model_files',
    `There is no model folder ${modelPath} (model.path)${placesOf(modelPath)}. ${repair}`,
  );
}
