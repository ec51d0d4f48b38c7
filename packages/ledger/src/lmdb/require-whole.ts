import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { StoreError } from '../store/store-error.js';
import { readBootId } from './boot-id.js';
import { restore } from './open-database.js';

/**
 * LMDB maps its file into memory, so reading a page beyond the end of the file would kill the process. The file states its
 * number of pages in three places of its first 8 KiB (lmdb-js's mdb.c, MDB_meta): commits write the first and the last one in
 * turn, and the middle one describes the newest sync.
 */
const metaOffsets = [0, 2048, 4096] as const;
const magic = 0xbeefc0de;
const at = { magic: 24, pageSize: 48, flags: 52, lastPage: 144, transaction: 152, bootId: 160, end: 168 } as const;
/** The flag of a commit that may not be on disk. */
const unsyncedFlag = 0x1000;

/**
 * Throws StoreError `damaged` if the file is shorter than it states, or is not a file of LMDB. A missing or empty file is new. The process
 * that opens it to write after a restart of the machine returns to the synced state, so pages of later commits may be missing.
 */
export function requireWhole(file: string, { isReadOnly }: { readonly isReadOnly: boolean }): void {
  const size = existsSync(file) ? statSync(file).size : 0;
  if (size === 0) return;
  const [first, synced, last] = readMetas(file);
  if (first === undefined) throw new StoreError('damaged', `${file} is not a file of a store. ${restore}`);
  const used = isReadOnly ? newerOf(first, last) : usedBy(readBootId(), first, last, synced);
  const least = Math.max(used.bytes, metaOffsets[2] + at.end);
  if (size >= least) return;
  throw new StoreError('damaged', `${file} is cut short: it has ${size} bytes of ${least}. ${restore}`);
}

/**
 * Returns whether the file notes commits before they are on disk, as files of earlier versions do. Present files do not: LMDB would then
 * repair its note of the newest commit after an owner was killed during a sync, without the lock that a second owner commits under.
 */
export function notesCommitsBeforeSync(file: string): boolean {
  if (!existsSync(file) || statSync(file).size === 0) return false;
  const [first, , last] = readMetas(file);
  return first?.isUnsynced === true || last?.isUnsynced === true;
}

type Meta = {
  /** 0 if nothing was committed here. */
  readonly transaction: number;
  /** The size that the file must have at least. */
  readonly bytes: number;
  readonly isUnsynced: boolean;
  readonly bootId: bigint;
};

function readMetas(file: string): readonly [Meta, Meta, Meta] | readonly [undefined] {
  const bytes = Buffer.alloc(metaOffsets[2] + at.end);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  if (bytes.readUInt32LE(at.magic) !== magic) return [undefined]; // LMDB itself would crash
  const [first, synced, last] = metaOffsets;
  return [toMeta(bytes, first), toMeta(bytes, synced), toMeta(bytes, last)];
}

function toMeta(bytes: Buffer, offset: number): Meta {
  const meta = bytes.subarray(offset, offset + at.end);
  const transaction = Number(meta.readBigUInt64LE(at.transaction));
  const pages = transaction === 0 ? 0 : Number(meta.readBigUInt64LE(at.lastPage)) + 1;
  return {
    transaction,
    bytes: pages * meta.readUInt32LE(at.pageSize),
    isUnsynced: (meta.readUInt16LE(at.flags) & unsyncedFlag) !== 0,
    bootId: meta.readBigInt64LE(at.bootId),
  };
}

const newerOf = (a: Meta, b: Meta): Meta => (a.transaction >= b.transaction ? a : b);

/** Returns the page that LMDB continues from (mdb_pick_meta). It identifies a boot of the machine by the first 32 bits of its name. */
function usedBy(bootId: string, first: Meta, last: Meta, synced: Meta): Meta {
  const digits = process.platform === 'linux' ? /^[\da-f]{8}/i.exec(bootId)?.[0] : undefined;
  if (digits === undefined) return newerOf(first, last);
  const present = BigInt(`0x${digits}`);
  const pick = (a: Meta, b: Meta): Meta => {
    const newer = newerOf(a, b);
    if (b.transaction === 0) return a;
    if (newer.bootId === present || !newer.isUnsynced) return newer;
    return a.transaction > b.transaction ? b : a;
  };
  return pick(pick(first, last), synced);
}
