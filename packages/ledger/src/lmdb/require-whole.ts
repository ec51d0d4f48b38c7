import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { StoreError } from '../store/store-error.js';
import { restore } from './open-database.js';

/**
 * The two places in the first 8 KiB of a file that state its number of pages (lmdb-js's mdb.c, MDB_meta). Commits write
 * them in turn. They are checked because LMDB maps its file into memory, so reading a page beyond the end of the file
 * would kill the process. A third place between them is used only by databases that note commits before they are on
 * disk, and the store does not use this mode.
 */
const metaOffsets = [0, 4096] as const;
const magic = 0xbeefc0de;
const at = { magic: 24, pageSize: 48, lastPage: 144, transaction: 152, end: 168 } as const;

/**
 * Throws StoreError `damaged` if the file is shorter than it states, or is not a file of LMDB. A missing or empty file
 * is new.
 */
export function requireWhole(file: string): void {
  const size = existsSync(file) ? statSync(file).size : 0;
  if (size === 0) return;
  const stated = readStatedBytes(file);
  if (stated === undefined) throw new StoreError('damaged', `${file} is not a file of a store. ${restore}`);
  const least = Math.max(stated, headBytes);
  if (size >= least) return;
  throw new StoreError('damaged', `${file} is cut short: it has ${size} bytes of ${least}. ${restore}`);
}

const headBytes = metaOffsets[1] + at.end;

/**
 * Returns the size that the file must have by its newest commit. Returns undefined if LMDB did not write the file. LMDB
 * would crash on such a file.
 */
function readStatedBytes(file: string): number | undefined {
  const bytes = Buffer.alloc(headBytes);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  if (bytes.readUInt32LE(at.magic) !== magic) return undefined;
  const [first, last] = metaOffsets.map((offset) => toMeta(bytes.subarray(offset)));
  return first !== undefined && last !== undefined && first.transaction >= last.transaction ? first.bytes : last?.bytes;
}

function toMeta(meta: Buffer): { readonly transaction: bigint; readonly bytes: number } {
  const transaction = meta.readBigUInt64LE(at.transaction);
  const pages = transaction === 0n ? 0 : Number(meta.readBigUInt64LE(at.lastPage)) + 1;
  return { transaction, bytes: pages * meta.readUInt32LE(at.pageSize) };
}
