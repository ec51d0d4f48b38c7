import { open, stat } from 'node:fs/promises';
import { parseJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Follows a file of JSON objects, one per line. `refresh` reads only what was appended. If the file was replaced or is
 * shorter than before, it is read anew and `generation` grows. A last line without an end is left for the next time.
 */
export class FollowedLines {
  readonly #file: string;
  #lines: JsonObject[] = [];
  #end = 0;
  #inode: number | undefined;
  #generation = 0;
  #reading: Promise<boolean> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  get lines(): readonly JsonObject[] {
    return this.#lines;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Resolves with true if lines were added or removed. */
  refresh(): Promise<boolean> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<boolean> {
    const found = await stat(this.#file).catch(() => undefined);
    if (found?.isFile() !== true) return this.#restart();
    const isReplaced = this.#inode !== undefined && (found.ino !== this.#inode || found.size < this.#end);
    const hasRestarted = isReplaced && this.#restart();
    this.#inode = found.ino;
    const isLonger = found.size > this.#end && (await this.#append(found.size));
    return hasRestarted || isLonger;
  }

  async #append(size: number): Promise<boolean> {
    const handle = await open(this.#file).catch(() => undefined);
    if (handle === undefined) return false;
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - this.#end), 0, size - this.#end, this.#end);
      const end = buffer.subarray(0, bytesRead).lastIndexOf(newline) + 1;
      if (end === 0) return false;
      this.#end += end;
      for (const line of buffer.toString('utf8', 0, end).split('\n')) {
        const value = parseJsonObject(line);
        if (value !== undefined) this.#lines.push(value);
      }
      return true;
    } finally {
      await handle.close();
    }
  }

  #restart(): boolean {
    const hadAny = this.#end > 0;
    if (hadAny) this.#generation++;
    this.#lines = [];
    this.#end = 0;
    this.#inode = undefined;
    return hadAny;
  }
}

const newline = 10;
