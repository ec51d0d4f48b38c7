import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject, parseJsonObject, tellOlderFormat, type JsonObject, sha256 } from '@agentjet/core';
import { findChangedFile, isSum, sumFiles, type FileSums } from './file-sums.js';
import { readRegularFile } from './read-regular-file.js';

/**
 * `state.json` seals a checkpoint. It is written last. It contains the length and SHA-256 of every other file, and a
 * SHA-256 of these entries, so that any changed bit is noticed before the checkpoint is used.
 */

export const stateFile = 'state.json';

const sumOf = (body: JsonObject): string => sha256(JSON.stringify(body));

/**
 * Writes the seal of a checkpoint. If a weight is not finite, writes no seal and throws BackboneError
 * `non_finite_weights`.
 */
export async function sealCheckpoint(dir: string, state: JsonObject): Promise<void> {
  const body = { ...state, files: await sumFiles(dir) };
  await writeFile(path.join(dir, stateFile), `${JSON.stringify({ ...body, sha256: sumOf(body) })}\n`);
}

/**
 * Returns the fields of a seal, or undefined if it is missing, not JSON, or changed. Throws BackboneError
 * `older_format` for a seal without SHA-256 sums.
 */
export async function readSeal(dir: string): Promise<JsonObject | undefined> {
  const text = await readRegularFile(path.join(dir, stateFile)).catch(() => 'null');
  const seal = parseJsonObject(text);
  if (seal === undefined) return undefined;
  if (!('files' in seal) && !('sha256' in seal))
    throw new BackboneError('older_format', tellOlderFormat(`The checkpoint ${dir}`));
  const { sha256, ...body } = seal;
  return sha256 === sumOf(body) ? seal : undefined;
}

const isSums = (value: unknown): value is FileSums => isJsonObject(value) && Object.values(value).every(isSum);

/** Describes what is wrong with the files of a checkpoint. Returns undefined if they are unchanged. */
export async function findBrokenSeal(dir: string): Promise<string | undefined> {
  const seal = await readSeal(dir);
  if (seal === undefined) return `its ${stateFile} is missing or has changed since it was written`;
  return isSums(seal['files']) ? findChangedFile(dir, seal['files']) : `its ${stateFile} has no sums of files`;
}
