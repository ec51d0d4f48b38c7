import { open, readFile } from 'node:fs/promises';
import { parseJsonObject, sha256 } from '@agentjet/core';
import type { TrackedRow } from './tracker.js';

/**
 * The position up to which a tracker has read a file. The file only grows, unless a resumed run cuts it. In that case
 * the line before the bookmark differs, and the file is read from its beginning.
 */
export type Bookmark = {
  /** Number of bytes read. */
  readonly offset: number;
  /** Identifies the last line read. Empty at the beginning. */
  readonly lastLine: string;
};

export const beginning: Bookmark = { offset: 0, lastLine: '' };

export type ReadRows = {
  readonly rows: readonly TrackedRow[];
  readonly bookmark: Bookmark;
  /** Whether lines that were read before are missing, because the run went back to an earlier step. */
  readonly isCut?: boolean;
};

/**
 * Returns the complete lines after the bookmark. If the file is missing, there are no lines. A line that is not JSON is
 * skipped.
 */
export async function readRows(file: string, prefix: string, bookmark: Bookmark): Promise<ReadRows> {
  const bytes = await readFrom(file, bookmark);
  if (bytes === undefined && bookmark.offset > 0) return { ...(await readRows(file, prefix, beginning)), isCut: true };
  if (bytes === undefined) return { rows: [], bookmark };
  const end = bytes.lastIndexOf('\n') + 1;
  const lines = bytes.subarray(0, end).toString().split('\n').slice(0, -1);
  const last = lines.at(-1);
  return {
    rows: lines.flatMap((line) => toRow(line, prefix)),
    bookmark: last === undefined ? bookmark : { offset: bookmark.offset + end, lastLine: hash(last) },
  };
}

/**
 * Reads the bytes after the bookmark. Returns undefined if the bookmark does not fit this file, or if there is no file.
 */
async function readFrom(file: string, { offset, lastLine }: Bookmark): Promise<Buffer | undefined> {
  if (offset === 0) return readFile(file).catch(() => undefined);
  const handle = await open(file).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    if (size < offset) return undefined;
    const before = Buffer.alloc(Math.min(offset, 1 << 16));
    await handle.read(before, 0, before.length, offset - before.length);
    const line = before.subarray(before.lastIndexOf('\n', before.length - 2) + 1, before.length - 1).toString();
    if (hash(line) !== lastLine) return undefined;
    const rest = Buffer.alloc(size - offset);
    const { bytesRead } = await handle.read(rest, 0, rest.length, offset);
    return rest.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const hash = (line: string): string => sha256(line, 'base64url').slice(0, 22);

function toRow(line: string, prefix: string): readonly TrackedRow[] {
  const { step, ...others } = parseJsonObject(line) ?? {};
  if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) return [];
  const values = Object.entries(others).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
  );
  return [{ step, values: Object.fromEntries(values.map(([name, value]) => [`${prefix}/${name}`, value])) }];
}
