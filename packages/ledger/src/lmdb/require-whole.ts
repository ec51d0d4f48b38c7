import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { StoreError } from '../store/store-error.js';

/**
 * LMDB maps its file into memory, so a page that is not there any more would kill the process as soon as it is read. The
 * file says itself how many pages it has, in one of three places of its first 8 KiB (lmdb-js's mdb.c, MDB_meta).
 */
const metaOffsets = [0, 2048, 4096] as const;
const magic = 0xbeefc0de;
const at = { magic: 24, pageSize: 48, lastPage: 144, transaction: 152, end: 160 } as const;

/** Throws StoreError `damaged` if the file is shorter than it says. One that is missing or empty is new. */
export function requireWhole(file: string): void {
  const size = existsSync(file) ? statSync(file).size : 0;
  if (size === 0) return;
  const least = Math.max(readSize(file), metaOffsets[2] + at.end);
  if (size >= least) return;
  throw new StoreError(
    'damaged',
    `${file} is cut short: it has ${size} bytes of ${least}. Restore the store from a copy, or start a new run from the newest checkpoint.`,
  );
}

/** By the newest of the three places; 0 if nothing was ever committed. */
function readSize(file: string): number {
  const bytes = Buffer.alloc(metaOffsets[2] + at.end);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  const metas = metaOffsets.map((offset) => bytes.subarray(offset, offset + at.end));
  const known = metas.filter((meta) => meta.readUInt32LE(at.magic) === magic);
  const newest = known.toSorted((a, b) => transactionOf(b) - transactionOf(a))[0];
  if (newest === undefined || transactionOf(newest) === 0) return 0;
  return (Number(newest.readBigUInt64LE(at.lastPage)) + 1) * newest.readUInt32LE(at.pageSize);
}

const transactionOf = (meta: Buffer): number => Number(meta.readBigUInt64LE(at.transaction));
