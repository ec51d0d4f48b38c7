import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { FileSum, FileSums } from './file-sums.js';
import { sumBeginning } from './record-sums.js';

/**
 * `model.json` contains the sums of the model folder's files at the beginning of the run. A resumed run compares them,
 * because it reads these files again: the tokenizer, and the weights if it has no checkpoint yet.
 */

const isPartOfModel = (name: string): boolean => /^[^.].*\.(json|safetensors|jinja|txt|model)$/.test(name);

/** Returns whether a file is small and decides how text becomes tokens. */
export const isTokenizerFile = (name: string): boolean => isPartOfModel(name) && !name.endsWith('.safetensors');

/**
 * Returns the length and SHA-256 of the files of a model folder. A file that cannot be read is left out; opening the
 * model reports it.
 */
export async function sumModel(dir: string, isWanted = isPartOfModel): Promise<FileSums> {
  const names = await readdir(dir).catch(() => []);
  const sums: Record<string, FileSum> = {};
  for (const name of names.filter(isWanted).toSorted()) {
    const file = path.join(dir, name);
    const entry = await stat(file).catch(() => undefined);
    const sha256 = entry?.isFile() ? await sumBeginning(file, entry.size) : undefined;
    if (entry !== undefined && sha256 !== undefined) sums[name] = { bytes: entry.size, sha256 };
  }
  return sums;
}

/** A changed file of the model folder, with the beginnings of its sums. Null if the file was or is missing. */
export type ModelChange = { readonly file: string; readonly before: string | null; readonly after: string | null };

/**
 * Returns the changed files. Returns an empty list if one side has no files, as for a run whose model folder is not on
 * this machine.
 */
export function compareModels(before: FileSums, after: FileSums): readonly ModelChange[] {
  if (Object.keys(before).length === 0 || Object.keys(after).length === 0) return [];
  const short = (sums: FileSums, file: string): string | null => sums[file]?.sha256.slice(0, 12) ?? null;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((file) => before[file]?.sha256 !== after[file]?.sha256)
    .map((file) => ({ file, before: short(before, file), after: short(after, file) }));
}
