import { open } from 'node:fs/promises';
import { TaskError } from '@agentjet/core';
import { unreadable } from '../rows/text-lines.js';

/** Reads rows by their byte positions. */
export interface RowText {
  read(offset: number, length: number): Promise<string>;
}

/** Rows that are read one after the other come from windows of this size. */
const windowBytes = 1 << 20;

type Stamp = { readonly size: number; readonly mtimeMs: number };

/**
 * Reads rows of a file, which must not change, because its index would be wrong for other content. Throws TaskError
 * `changed_file`.
 */
export class FileRows implements RowText {
  readonly #file: string;
  readonly #stamp: Stamp;
  #window: { readonly offset: number; readonly bytes: Buffer } = { offset: 0, bytes: Buffer.alloc(0) };
  #expected = 0;

  constructor(file: string, stamp: Stamp) {
    this.#file = file;
    this.#stamp = stamp;
  }

  async read(offset: number, length: number): Promise<string> {
    const isNext = offset >= this.#expected && offset < this.#expected + windowBytes;
    this.#expected = offset + length;
    const { offset: start, bytes } = this.#window;
    if (offset >= start && offset + length <= start + bytes.length)
      return bytes.toString('utf8', offset - start, offset - start + length);
    const read = await this.#readBytes(offset, isNext ? Math.max(length, windowBytes) : length);
    if (isNext) this.#window = { offset, bytes: read };
    if (read.length < length) throw changedFile(this.#file);
    return read.toString('utf8', 0, length);
  }

  async #readBytes(offset: number, length: number): Promise<Buffer> {
    const handle = await open(this.#file).catch((error: unknown) => {
      throw unreadable(this.#file, error);
    });
    try {
      const { size, mtimeMs } = await handle.stat();
      if (size !== this.#stamp.size || mtimeMs !== this.#stamp.mtimeMs) throw changedFile(this.#file);
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }
}

/** Reads rows of a small file that had to be converted. */
export class MemoryRows implements RowText {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  async read(offset: number, length: number): Promise<string> {
    return this.#bytes.toString('utf8', offset, offset + length);
  }
}

export function changedFile(file: string): TaskError {
  return new TaskError(
    'changed_file',
    `Task file ${file} has changed since the run began to read it. Do not change it while a run uses it, and start again.`,
  );
}
