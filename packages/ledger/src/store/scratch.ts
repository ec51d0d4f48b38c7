/**
 * Memory for the entries of a commit, used again by the next one: an allocation for each entry costs more than to fill it.
 */
export class Scratch {
  readonly #blockBytes: number;
  #block = Buffer.alloc(0);
  #used = 0;

  /** It takes so many bytes at once, or what is asked for if that is more. */
  constructor(blockBytes = 2 ** 19) {
    this.#blockBytes = blockBytes;
  }

  /** So many bytes, which hold anything. Those that are not needed are given back with `trim`, before more are taken. */
  take(length: number): Buffer {
    if (this.#used + length > this.#block.length) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(this.#blockBytes, length));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return this.#block.subarray(start, this.#used);
  }

  /** Keeps the first bytes of what was taken last. */
  trim(taken: Buffer, length: number): Buffer {
    this.#used -= taken.length - length;
    return taken.subarray(0, length);
  }

  /** Nobody reads any more what was taken. */
  clear(): void {
    if (this.#block.length > this.#blockBytes) this.#block = Buffer.alloc(0);
    this.#used = 0;
  }
}
