import { createHash, type Hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { parseJsonObject, replaceFile } from '@agentjet/core';
import { episodeFileName } from './episode-files.js';
import { isSum, type FileSum, type FileSums } from './file-sums.js';
import { appendJsonLine, readTextFile } from './json-lines.js';
import { checkHasEnd } from './read-regular-file.js';
import { runFiles } from './run-files.js';
import { sizeOf } from './size-of.js';

/**
 * `sums.jsonl` contains sums of the records of a run, computed when the records were written. After each step and each
 * evaluation it gets one line with length and SHA-256 of the files that grew. Records are only appended to, so the
 * beginning of a file must never change. The last line for each file counts.
 */

/**
 * Returns the SHA-256 of the first `bytes` bytes of a file. Returns undefined if the file cannot be read, or has fewer
 * bytes.
 */
export async function sumBeginning(file: string, bytes: number): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await checkHasEnd(file);
    return (await hashBeginning(file, bytes, hash)) === bytes ? hash.digest('hex') : undefined;
  } catch {
    return undefined;
  }
}

const pieceBytes = 1 << 20;

/** Resolves to the number of bytes that the file had, at most `bytes`. A stream costs more than a small file itself. */
async function hashBeginning(file: string, bytes: number, hash: Hash): Promise<number> {
  const handle = await open(file);
  try {
    const buffer = Buffer.allocUnsafe(Math.min(bytes, pieceBytes));
    let seen = 0;
    while (seen < bytes) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - seen), seen);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      seen += bytesRead;
    }
    return seen;
  } finally {
    await handle.close();
  }
}

/** Returns paths below the run folder, with forward slashes. */
async function listRecords(dir: string): Promise<readonly string[]> {
  const names: string[] = [runFiles.metrics, runFiles.evaluations];
  for (const folder of stepFolders) {
    const found = await readdir(path.join(dir, folder)).catch(() => []);
    const steps = found.filter((name) => /^step-\d+\.jsonl$/.test(name)).toSorted();
    names.push(...steps.map((name) => `${folder}/${name}`));
  }
  return names;
}

/** Folders with a file for each step. */
const stepFolders = ['episodes', 'index', 'annotations'] as const;

/** Returns the paths of the files of a step below the run folder. */
export const recordsOfStep = (step: number): readonly string[] =>
  stepFolders.map((folder) => `${folder}/${episodeFileName(step)}`);

/** Returns the sums of these files except empty ones. A file whose length equals that in `known` is not read again. */
async function sumRecords(dir: string, names: readonly string[], known: FileSums = {}): Promise<FileSums> {
  const sums: Record<string, FileSum> = {};
  for (const name of names) {
    const file = path.join(dir, name);
    const bytes = await sizeOf(file);
    const old = name.startsWith('index/') ? undefined : known[name]; // a resumed run may have made it anew
    const sha256 = old?.bytes === bytes ? old.sha256 : await sumBeginning(file, bytes);
    if (sha256 !== undefined && bytes > 0) sums[name] = { bytes, sha256 };
  }
  return sums;
}

type SumsRead = { readonly sums: FileSums; readonly isBroken: boolean };

/** Reads the recorded sums. Ignores a last line without an end, which a killed writer left. */
async function readSums(dir: string): Promise<SumsRead> {
  const text = await readTextFile(path.join(dir, runFiles.sums));
  const sums = new Map<string, FileSum>();
  let isBroken = false;
  for (const line of text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)) {
    const parsed = parseJsonObject(line); // an empty object means that nothing was recorded yet
    if (parsed === undefined) isBroken = true;
    for (const [name, sum] of Object.entries(parsed ?? {}))
      if (isSum(sum)) sums.set(name, sum);
      else isBroken = true;
  }
  return { sums: Object.fromEntries(sums), isBroken };
}

/** Records the present sums of these files, given as paths below the run folder with forward slashes. */
export async function noteRecords(dir: string, names: readonly string[]): Promise<void> {
  const sums = await sumRecords(dir, names);
  if (Object.keys(sums).length > 0) await appendJsonLine(path.join(dir, runFiles.sums), sums);
}

/**
 * Lets `change` remove records, as a resumed run does, and then writes the sums of the remaining records. The old sums
 * are removed first. After a kill in between, the run has no sums, instead of sums of records that no longer exist.
 */
export async function whileCut<T>(dir: string, change: () => Promise<T>): Promise<T> {
  const file = path.join(dir, runFiles.sums);
  const { sums: known } = await readSums(dir);
  await rm(file, { force: true });
  const result = await change();
  const sums = await sumRecords(dir, await listRecords(dir), known);
  await replaceFile(file, `${JSON.stringify(sums)}\n`);
  return result;
}

/**
 * Removes the part of each file after its known records, because a record counts only once its sum is written. Resolves
 * to descriptions of what was removed.
 */
export async function cutUnknown(dir: string): Promise<readonly string[]> {
  const { sums } = await readSums(dir);
  const cut: string[] = [];
  for (const [name, { bytes, sha256 }] of Object.entries(sums)) {
    const file = path.join(dir, name);
    const size = await sizeOf(file);
    if (size <= bytes || (await sumBeginning(file, bytes)) !== sha256) continue;
    await truncate(file, bytes);
    cut.push(`${size - bytes} bytes after the last record of ${file} are removed.`);
  }
  return cut;
}

/**
 * Describes changes in the records since they were written. A file that only grew counts as changed only if the run has
 * no writer, because a writer may be about to record the sum, or was killed before that.
 */
export async function findChangedRecords(dir: string): Promise<readonly string[]> {
  const { sums, isBroken } = await readSums(dir);
  const hasWriter = existsSync(path.join(dir, runFiles.writer));
  const changed: string[] = [];
  for (const [name, sum] of Object.entries(sums)) {
    const file = path.join(dir, name);
    const isSame = (await sumBeginning(file, sum.bytes)) === sum.sha256;
    if (!isSame || (!hasWriter && (await sizeOf(file)) > sum.bytes))
      changed.push(
        `${file} has changed since it was written: curve, report and episodes may differ from what happened.`,
      );
  }
  if (isBroken)
    changed.push(
      `${path.join(dir, runFiles.sums)} has changed since it was written: changes of other files may go unnoticed.`,
    );
  return changed;
}
