import { createHash, type Hash } from 'node:crypto';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject } from '@agentjet/core';
import { hasNonFinite } from './find-non-finite.js';
import { checkHasEnd } from './read-regular-file.js';
import { readTensorRanges } from './tensor-ranges.js';

/**
 * The length and SHA-256 of each file of a checkpoint. Weights are read only once to check that they are unchanged and
 * that every number is finite.
 */
export type FileSum = { readonly bytes: number; readonly sha256: string };
export const isSum = (value: unknown): value is FileSum =>
  isJsonObject(value) && typeof value['bytes'] === 'number' && typeof value['sha256'] === 'string';

/** Sums by path below the checkpoint, with forward slashes. */
export type FileSums = Readonly<Record<string, FileSum>>;

const pieceBytes = 4 << 20;

type Range = { readonly start: number; readonly end: number; readonly dtype?: string; readonly name?: string };

/** Returns the tensors and the gaps between them, in order, so that every byte of the file is in exactly one range. */
async function listRanges(handle: FileHandle, file: string, size: number): Promise<readonly Range[]> {
  const tensors = file.endsWith('.safetensors') ? await readTensorRanges(handle, size) : [];
  const ranges: Range[] = [];
  let at = 0;
  for (const tensor of tensors) {
    if (tensor.start < at || tensor.end < tensor.start || tensor.end > size) return [{ start: 0, end: size }];
    ranges.push({ start: at, end: tensor.start }, tensor);
    at = tensor.end;
  }
  return [...ranges, { start: at, end: size }];
}

/** Adds a range to the hash. Returns false if it contains a number that is not finite. */
async function readRange(handle: FileHandle, { start, end, dtype }: Range, hash: Hash): Promise<boolean> {
  const buffer = new Uint8Array(new ArrayBuffer(Math.min(pieceBytes, end - start)));
  let isFinite = true;
  for (let at = start; at < end; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, end - at), at);
    if (bytesRead === 0) return isFinite; // the file became shorter, so its hash will differ
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    if (dtype !== undefined && hasNonFinite(piece, dtype)) isFinite = false;
    at += bytesRead;
  }
  return isFinite;
}

/** Returns the length and SHA-256 of a file, and the first tensor that contains a number that is not finite. */
async function sumFile(file: string): Promise<FileSum & { readonly nonFinite: string | undefined }> {
  await checkHasEnd(file);
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const hash = createHash('sha256');
    let nonFinite: string | undefined;
    for (const range of await listRanges(handle, file, size))
      if (!(await readRange(handle, range, hash))) nonFinite ??= range.name;
    return { bytes: size, sha256: hash.digest('hex'), nonFinite };
  } finally {
    await handle.close();
  }
}

async function listFiles(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .toSorted();
}

/**
 * Returns sums of every file below `dir`. Throws BackboneError `non_finite_weights` if a tensor of a safetensors file
 * contains an infinity or NaN, because such weights and moments can never be trained again.
 */
export async function sumFiles(dir: string): Promise<FileSums> {
  const sums: Record<string, FileSum> = {};
  for (const name of await listFiles(dir)) {
    const { nonFinite, ...sum } = await sumFile(path.join(dir, name));
    if (nonFinite !== undefined)
      throw new BackboneError(
        'non_finite_weights',
        `The weights have diverged: ${nonFinite} in ${name} contains a number that is not finite, so they are not saved. ` +
          'Continue from the last checkpoint with a smaller trainer_common.optim.lr, or with trainer_common.optim.grad_clip.',
      );
    sums[name] = sum;
  }
  return sums;
}

/**
 * Describes the first difference between the files below `dir` and their sums. Returns undefined if they are unchanged.
 */
export async function findChangedFile(dir: string, sums: FileSums): Promise<string | undefined> {
  for (const [name, { bytes, sha256 }] of Object.entries(sums)) {
    const found = await sumFile(path.join(dir, name)).catch((error: unknown) => String(error));
    if (typeof found === 'string') return `${name} cannot be read (${found})`;
    if (found.bytes !== bytes) return `${name} has ${found.bytes} bytes, but ${bytes} were written`;
    if (found.sha256 !== sha256) return `${name} has changed since it was written`;
    if (found.nonFinite !== undefined) return `${found.nonFinite} in ${name} contains a number that is not finite`;
  }
  return undefined;
}
