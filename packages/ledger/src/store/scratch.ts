/**
 * Reuses memory for the entries of a commit, because allocating memory for each entry costs more than filling it.
 */
export class Scratch {
  readonly #blockBytes: number;
  #block = Buffer.alloc(0);
  #used = 0;

  /** `blockBytes`: the size of a block. A larger request gets a larger block. */
  constructor(blockBytes = 2 ** 19) {
    this.#blockBytes = blockBytes;
  }

  /** Returns `length` bytes with arbitrary content. Return unused bytes with `trim` before you take more. */
  take(length: number): Buffer {
    if (this.#used + length > this.#block.length) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(this.#blockBytes, length));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return this.#block.subarray(start, this.#used);
  }

  /** Keeps the first bytes of the last `take`. */
  trim(taken: Buffer, length: number): Buffer {
    this.#used -= taken.length - length;
    return taken.subarray(0, length);
  }

  /** Call this when nobody reads the taken memory any more. */
  clear(): void {
    if (this.#block.length > this.#blockBytes) this.#block = Buffer.alloc(0);
    this.#used = 0;
  }
}
