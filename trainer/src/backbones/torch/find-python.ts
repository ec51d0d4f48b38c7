import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

import { BackboneError } from '@agentjet/core';

/** The Python package beside this one: `trainer/torch`, from `src` and from `dist` alike. */
export const workerDir = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../torch');

/** What makes an environment with all that the worker needs, for messages. */
export const setupCommand = `"npm run setup:torch" (outside the repository: node ${path.join(workerDir, 'setup.mjs')})`;

/** The interpreter of the virtual environment that `npm run setup:torch` makes. */
export function venvPython(dir: string = workerDir): string {
  return process.platform === 'win32' ? path.join(dir, '.venv/Scripts/python.exe') : path.join(dir, '.venv/bin/python');
}

/** The given interpreter, else AJET_TORCH_PYTHON, else the virtual environment's. Throws BackboneError `no_python`. */
export function findPython(python?: string): string {
  const chosen = python ?? process.env['AJET_TORCH_PYTHON'] ?? venvPython();
  if (!path.isAbsolute(chosen) || existsSync(chosen)) return chosen;
  throw new BackboneError(
    'no_python',
    `The torch backbone needs Python 3.10+ with PyTorch; there is none at ${chosen}. Make it with ${setupCommand}, or point AJET_TORCH_PYTHON at an interpreter that has torch, transformers, msgpack and safetensors.`,
  );
}
