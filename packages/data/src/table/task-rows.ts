import type { Task } from '@agentjet/core';
import type { RowIndex } from './row-index.js';
import type { TaskFile } from './task-file.js';
import type { Hash } from './text-hash.js';

/** The rows of several files, numbered across all files. */
export class TaskRows {
  readonly files: readonly TaskFile[];
  readonly size: number;
  /** The number of the first row of each file. */
  readonly #starts: readonly number[];

  constructor(files: readonly TaskFile[]) {
    this.files = files;
    const starts: number[] = [];
    let size = 0;
    for (const { index } of files) {
      starts.push(size);
      size += index.size;
    }
    [this.size, this.#starts] = [size, starts];
  }

  taskAt(row: number): Promise<Task> {
    const [file, own] = this.#locate(row);
    return file.taskAt(own);
  }

  /** Returns a place such as `tasks.jsonl:12`. */
  placeOf(row: number): string {
    const [file, own] = this.#locate(row);
    return file.placeOf(own);
  }

  /** Calls `use` for every row with the hash of its id or of its text. */
  forEachHash(kind: 'id' | 'text', use: (row: number, hash: Hash) => void): void {
    const hash: Hash = { high: 0, low: 0 };
    let row = 0;
    for (const { index } of this.files)
      for (let own = 0; own < index.size; own++) use(row++, readHash(index, kind, own, hash));
  }

  hashOf(kind: 'id' | 'text', row: number): Hash {
    const [file, own] = this.#locate(row);
    return readHash(file.index, kind, own, { high: 0, low: 0 });
  }

  #locate(row: number): readonly [file: TaskFile, own: number] {
    const at = this.#starts.findLastIndex((start) => start <= row);
    const file = this.files[at];
    if (file === undefined) throw new RangeError(`There is no row ${row}.`);
    return [file, row - (this.#starts[at] ?? 0)];
  }
}

function readHash(index: RowIndex, kind: 'id' | 'text', row: number, into: Hash): Hash {
  return kind === 'id' ? index.idOf(row, into) : index.textOf(row, into);
}
