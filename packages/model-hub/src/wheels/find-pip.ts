import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BackboneError } from '@agentjet/core';

/** A program, followed by the arguments that come before those of pip. */
export type Pip = readonly [program: string, ...before: readonly string[]];

const candidates: readonly Pip[] = [
  ['python3', '-m', 'pip'],
  ['python', '-m', 'pip'],
  ['py', '-3', '-m', 'pip'],
];

/** Finds the pip of this machine, whose configuration names the package index. Rejects with BackboneError `no_pip`. */
export async function findPip(): Promise<Pip> {
  for (const [program, ...before] of candidates) {
    const works = await promisify(execFile)(program, [...before, '--version'], { windowsHide: true }).then(
      () => true,
      () => false,
    );
    if (works) return [program, ...before];
  }
  throw new BackboneError(
    'no_pip',
    'No pip was found (python3 -m pip, python -m pip, py -3 -m pip). Install Python with pip, or set model.path to a folder or a GGUF file.',
  );
}
