import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { metaOf, pageBytes } from './page-meta.js';

/**
 * Makes room in a file before LMDB writes to it, because LMDB may end the process if the disk becomes full during a
 * commit. The room is written as zeros, so that the disk really allocates it.
 */
export class FileRoom {
  readonly #handle: number;

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
    const { size } = fstatSync(this.#handle);
    const wanted = this.#usedBytes() + bytes;
    if (size >= wanted) return;
    const ahead = Math.min(Math.max(wanted >> 3, leastAhead), mostAhead);
    try {
      this.#grow(size, wanted + ahead);
    } catch {
      this.#grow(size, wanted); // the disk may have room for the needed bytes alone
    }
  }

  close(): void {
    closeSync(this.#handle);
  }

  #grow(from: number, to: number): void {
    try {
      for (let at = from; at < to; ) at += writeSync(this.#handle, zeros, 0, Math.min(zeros.length, to - at), at);
    } catch (error) {
      ftruncateSync(this.#handle, from);
      throw error;
    }
  }

  #usedBytes(): number {
    let used = 2 * pageBytes;
    for (const pgno of [0, 1]) {
      readSync(this.#handle, head, 0, pageBytes, pgno * pageBytes);
      const meta = metaOf(head, pgno);
      if (typeof meta !== 'string') used = Math.max(used, (meta.lastPage + 1) * pageBytes);
    }
    return used;
  }
}

const zeros = Buffer.alloc(2 ** 18);
const head = Buffer.alloc(pageBytes);
const leastAhead = 2 ** 16;
const mostAhead = 2 ** 22;
