import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';

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

/** The folder that `model.path` means. Throws BackboneError `bad_model_files`. */
export function findModelDir(modelPath: string): string {
  if (modelPath === 'nano') return nanoModelDir;
  if (existsSync(modelPath)) {
    if (!statSync(modelPath).isDirectory())
      throw new BackboneError(
        'bad_model_files',
        `model.path ${modelPath} is a file. Name the folder that holds config.json and the weights.`,
      );
    refuseRunFolder(modelPath);
    return modelPath;
  }
  const isHubName = /^[\w.-]+\/[\w.-]+$/.test(modelPath);
  const repair = isHubName
    ? `Nothing is downloaded: get it first, for example with \`hf download ${modelPath} --local-dir ${modelPath}\`.`
    : 'Correct the path, or use "nano", the tiny model that comes along.';
  const places = path.isAbsolute(modelPath) ? '' : `, neither beside the YAML file nor in ${process.cwd()}`;
  throw new BackboneError('bad_model_files', `There is no model folder ${modelPath} (model.path)${places}. ${repair}`);
}
