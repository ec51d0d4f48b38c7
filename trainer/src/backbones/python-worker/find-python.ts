import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

import { BackboneError, quoteForShell } from '@agentjet/core';

/** Where a Python worker is, and what makes its environment. */
export type PythonHome = {
  /** Of the backbone, for messages. */
  readonly name: string;
  /** Folder with the package, `setup.mjs` and `.venv`. */
  readonly dir: string;
  /** Environment variable that names another interpreter. */
  readonly variable: string;
  /** What that one must have, for messages. */
  readonly needs: string;
  /** What makes the environment, for messages. */
  readonly setupCommand: string;
};

/** Next to this package's sources, from `src` and from `dist` alike. `needs`: packages, as a sentence names them. */
export function pythonHome(name: string, needs: string): PythonHome {
  const dir = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..', name);
  return {
    name,
    dir,
    variable: `AJET_${name.toUpperCase()}_PYTHON`,
    needs,
    setupCommand: `"npm run setup:${name}" (outside the repository: node ${quoteForShell(path.join(dir, 'setup.mjs'))})`,
  };
}

/** The interpreter of the virtual environment that `setup.mjs` makes. */
export function venvPython({ dir }: Pick<PythonHome, 'dir'>): string {
  return process.platform === 'win32' ? path.join(dir, '.venv/Scripts/python.exe') : path.join(dir, '.venv/bin/python');
}

/** The given interpreter, else that of the environment variable, else the virtual environment's. Throws BackboneError `no_python`. */
export function findPython(home: PythonHome, python?: string): string {
  const chosen = python ?? process.env[home.variable] ?? venvPython(home);
  if (!path.isAbsolute(chosen) || existsSync(chosen)) return chosen;
  throw new BackboneError(
    'no_python',
    `The ${home.name} backbone needs Python 3.10+ with ${home.needs}; there is none at ${chosen}. Make it with ${home.setupCommand}, or point ${home.variable} at an interpreter that has them.`,
  );
}
