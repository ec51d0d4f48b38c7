/** Some rows of a table, in their order. `null` means all of them. */
export class RowSelection {
  readonly size: number;
  readonly #rows: Uint32Array | null;
  readonly #isIn: Uint8Array | null;

  private constructor(size: number, rows: Uint32Array | null, isIn: Uint8Array | null) {
    [this.size, this.#rows, this.#isIn] = [size, rows, isIn];
  }

  static all(size: number): RowSelection {
    return new RowSelection(size, null, null);
  }

  rowAt(at: number): number {
    return this.#rows === null ? at : (this.#rows[at] ?? -1);
  }

  has(row: number): boolean {
    return this.#isIn === null || this.#isIn[row] === 1;
  }

  /** Returns the rows of this selection for which `isKept` is true. */
  filter(isKept: (row: number) => boolean): RowSelection {
    const kept: number[] = [];
    let most = 0;
    for (let at = 0; at < this.size; at++) {
      const row = this.rowAt(at);
      most = Math.max(most, row);
      if (isKept(row)) kept.push(row);
    }
    const isIn = new Uint8Array(most + 1);
    for (const row of kept) isIn[row] = 1;
    return new RowSelection(kept.length, Uint32Array.from(kept), isIn);
  }
}
