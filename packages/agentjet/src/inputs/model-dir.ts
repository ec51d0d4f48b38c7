import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';

/** The folder that `model.path` means. Throws BackboneError `bad_model_files`. */
export function findModelDir(modelPath: string): string {
  if (modelPath === 'nano') return nanoModelDir;
  if (existsSync(modelPath)) {
    if (statSync(modelPath).isDirectory()) return modelPath;
    throw new BackboneError('bad_model_files', `model.path ${modelPath} is a file. Name the folder that holds config.json and the weights.`);
  }
  const isHubName = /^[\w.-]+\/[\w.-]+$/.test(modelPath);
  const repair = isHubName
    ? `Nothing is downloaded: get it first, for example with \`hf download ${modelPath} --local-dir ${modelPath}\`.`
    : 'Correct the path, or use "nano", the tiny model that comes along.';
  const places = path.isAbsolute(modelPath) ? '' : `, neither beside the YAML file nor in ${process.cwd()}`;
  throw new BackboneError('bad_model_files', `There is no model folder ${modelPath} (model.path)${places}. ${repair}`);
}
