import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { StoreError } from '../store/store-error.js';
import { restore } from './open-database.js';

/** The newest file of a store, and the number of its commits. */
export type StoreEnd = { readonly file: number; readonly commits: number };

/**
 * A small file next to the files of a store that says where the store ends. Without the head, a store whose newest file
 * is missing would look like a store that ended earlier. The head is written after each commit, and is not synced.
 * After a crash it may name an earlier commit, but never a commit that the store does not have. Two slots are written
 * in turn, so a power cut damages at most one of them.
 */
export class StoreHead {
  readonly #handle: number;
  #end: StoreEnd;
  #slot = 0;

  private constructor(handle: number, end: StoreEnd) {
    this.#handle = handle;
    this.#end = end;
  }

  /** Returns the end of the store in a folder, or undefined if the folder has no head. Throws StoreError `damaged`. */
  static read(dir: string): StoreEnd | undefined {
    const file = headOf(dir);
    if (!existsSync(file)) return undefined;
    const bytes = readFileSync(file);
    const ends = [0, 1].flatMap((slot) => toEnd(bytes.subarray(slot * slotBytes, slot * slotBytes + endBytes)) ?? []);
    if (ends.length > 0) return ends.reduce((a, b) => (isBefore(a, b) ? b : a));
    throw new StoreError('damaged', `${file} is damaged: it does not say where the store ends. ${restore}`);
  }

  /** Opens the head of a folder for writing. A new head is synced. Throws StoreError `damaged`, or the disk's error. */
  static open(dir: string): StoreHead {
    const known = StoreHead.read(dir);
    const handle = openSync(headOf(dir), known === undefined ? 'w+' : 'r+');
    const head = new StoreHead(handle, known ?? { file: -1, commits: 0 });
    if (known === undefined) {
      for (const slot of [0, 1]) head.#put(slot);
      fsyncSync(handle);
    }
    return head;
  }

  /** Records that the store has at least this commit. */
  reach(end: StoreEnd): void {
    if (!isBefore(this.#end, end)) return;
    this.#end = end;
    this.#put(this.#slot);
    this.#slot = 1 - this.#slot;
  }

  close(): void {
    closeSync(this.#handle);
  }

  #put(slot: number): void {
    writeSync(this.#handle, toBytes(this.#end), 0, endBytes, slot * slotBytes);
  }
}

export const headOf = (dir: string): string => path.join(dir, 'head');

const isBefore = (a: StoreEnd, b: StoreEnd): boolean => a.file < b.file || (a.file === b.file && a.commits < b.commits);

function toBytes({ file, commits }: StoreEnd): Buffer {
  const bytes = Buffer.alloc(endBytes);
  bytes.writeDoubleLE(file, 4);
  bytes.writeDoubleLE(commits, 12);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

function toEnd(bytes: Buffer): StoreEnd | undefined {
  if (bytes.length < endBytes || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) return undefined;
  return { file: bytes.readDoubleLE(4), commits: bytes.readDoubleLE(12) };
}

const slotBytes = 512;
const endBytes = 20;
