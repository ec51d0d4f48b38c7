import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { lastPageOf, pageBytes } from './page-meta.js';

/**
 * Makes room in a file before LMDB writes to it, because LMDB may end the process if the disk becomes full during a
 * commit. The room is written as zeros, so that the disk really allocates it.
 */
export class FileRoom {
  readonly #handle: number;
  /** The size of the file at the last look. LMDB may have grown the file since, but never makes it smaller. */
  #size = 0;
  /** Bytes that LMDB can still write, if each write since the last look at the file took all that it asked for. */
  #left = 0;

  constructor(file: string) {
    this.#handle = openSync(file, 'r+');
  }

  /** Bytes that LMDB can write before the file has to grow. */
  get bytes(): number {
    return Math.max(0, fstatSync(this.#handle).size - this.#usedBytes());
  }

  /**
   * Grows the file so that LMDB can write this many bytes. If the disk fails, restores the size and throws the error.
   */
  ensure(bytes: number): void {
    if (bytes > this.#left) this.#left = this.#look(bytes);
    this.#left -= bytes;
  }

  close(): void {
    closeSync(this.#handle);
  }

  /** Grows the file if it has less room, and returns its room. */
  #look(bytes: number): number {
    this.#left = 0;
    const used = this.#usedBytes();
    const wanted = used + bytes;
    if (this.#size >= wanted) return this.#size - used;
    const { size } = fstatSync(this.#handle);
    this.#size = size;
    if (size >= wanted) return size - used;
    const ahead = Math.min(Math.max(wanted >> 3, leastAhead), mostAhead);
    try {
      this.#grow(size, wanted + ahead);
      return bytes + ahead;
    } catch {
      this.#grow(size, wanted); // the disk may have room for the needed bytes alone
      return bytes;
    }
  }

  #grow(from: number, to: number): void {
    try {
      for (let at = from; at < to; ) at += writeSync(this.#handle, zeros, 0, Math.min(zeros.length, to - at), at);
      this.#size = to;
    } catch (error) {
      ftruncateSync(this.#handle, from);
      throw error;
    }
  }

  #usedBytes(): number {
    let used = 2 * pageBytes;
    readSync(this.#handle, heads, 0, heads.length, 0);
    for (const pgno of [0, 1]) {
      const lastPage = lastPageOf(heads.subarray(pgno * pageBytes), pgno);
      if (lastPage !== undefined) used = Math.max(used, (lastPage + 1) * pageBytes);
    }
    return used;
  }
}

const zeros = Buffer.alloc(2 ** 18);
const heads = Buffer.alloc(2 * pageBytes);
const leastAhead = 2 ** 16;
const mostAhead = 2 ** 22;
