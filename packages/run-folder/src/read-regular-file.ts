import { readFile, stat } from 'node:fs/promises';
import { BackboneError } from '@agentjet/core';

/** Throws BackboneError `run_folder` for a pipe or a device, which would be waited for for ever, or what `stat` throws. */
export async function checkHasEnd(file: string): Promise<void> {
  const entry = await stat(file);
  if (!entry.isFile() && !entry.isDirectory())
    throw new BackboneError('run_folder', `${file} is a pipe or a device, not a file. Remove it.`);
}

/** The text of a file that has an end. Throws as `checkHasEnd`, or what reading throws. */
export async function readRegularFile(file: string): Promise<string> {
  await checkHasEnd(file);
  return readFile(file, 'utf8');
}
