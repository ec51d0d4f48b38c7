import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

import { BackboneError, quoteForShell } from '@agentjet/core';

/** Describes where a Python worker is, and which command creates its environment. */
export type PythonHome = {
  /** The name of the backbone, for messages. */
  readonly name: string;
  /** The folder with the package, `setup.mjs` and `.venv`. */
  readonly dir: string;
  /** The environment variable that names another interpreter. */
  readonly variable: string;
  /** The packages that the interpreter must have, for messages. */
  readonly needs: string;
  /** The command that creates the environment, for messages. */
  readonly setupCommand: string;
};

/**
 * Finds the worker's folder next to this package's sources, from `src` and from `dist`. `needs` lists packages in
 * words, for a sentence.
 */
function pythonHome(name: string, needs: string): PythonHome {
  const dir = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..', name);
  return {
    name,
    dir,
    variable: `AJET_${name.toUpperCase()}_PYTHON`,
    needs,
    setupCommand: `"npm run setup:${name}" (outside the repository: node ${quoteForShell(path.join(dir, 'setup.mjs'))})`,
  };
}

/** Returns the interpreter of the virtual environment that `setup.mjs` creates. */
export function venvPython({ dir }: Pick<PythonHome, 'dir'>): string {
  return process.platform === 'win32' ? path.join(dir, '.venv/Scripts/python.exe') : path.join(dir, '.venv/bin/python');
}

/**
 * Returns the given interpreter, or that of the environment variable, or that of the virtual environment. Throws
 * BackboneError `no_python`.
 */
export function findPython(home: PythonHome, python?: string): string {
  const chosen = python ?? process.env[home.variable] ?? venvPython(home);
  if (!path.isAbsolute(chosen) || existsSync(chosen)) return chosen;
  throw new BackboneError(
    'no_python',
    `The ${home.name} backbone needs Python 3.10+ with ${home.needs}; there is no such interpreter at ${chosen}. Run ${home.setupCommand}, or set ${home.variable} to an interpreter with these packages.`,
  );
}

/** The folder `trainer/torch`. */
export const torchHome = pythonHome('torch', 'torch, transformers, msgpack and safetensors');

/** The folder `trainer/verl`. */
export const verlHome = pythonHome('verl', 'the versions in its requirements.txt');
