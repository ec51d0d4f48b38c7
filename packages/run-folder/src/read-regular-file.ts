import { readFile, stat } from 'node:fs/promises';
import { BackboneError } from '@agentjet/core';

/**
 * Throws BackboneError `run_folder` for a pipe or a device, because reading it may never end. Also throws the errors of
 * `stat`.
 */
export async function checkHasEnd(file: string): Promise<void> {
  const entry = await stat(file);
  if (!entry.isFile() && !entry.isDirectory())
    throw new BackboneError('run_folder', `${file} is a pipe or a device, not a file. Remove it.`);
}

/** Returns the content of a regular file. Throws as `checkHasEnd` does, or the errors of reading. */
export async function readRegularFile(file: string): Promise<string> {
  await checkHasEnd(file);
  return readFile(file, 'utf8');
}
