/**
 * Memory for the bytes of many ends. To allocate some for each of them costs more than to fill it, and so does letting go of it.
 * What was taken is never taken again; a slab is let go of when all of it is.
 */
export class ByteSlab {
  #bytes = new Uint8Array(0);
  #shorts = new Uint16Array(0);
  #floats = new Float32Array(0);
  #used = 0;

  /** The offset of `length` free bytes, a multiple of four. Their content is undefined. */
  take(length: number): number {
    if (this.#used + length > this.#bytes.length) this.#begin(Math.max(slabBytes, length));
    const start = this.#used;
    this.#used = Math.ceil((start + length) / 4) * 4;
    return start;
  }

  /** The slab that the last `take` was from, in numbers of two bytes. */
  get shorts(): Uint16Array {
    return this.#shorts;
  }

  /** In numbers of four bytes. */
  get floats(): Float32Array {
    return this.#floats;
  }

  /** In bytes. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  #begin(length: number): void {
    const { buffer: memory } = Buffer.allocUnsafeSlow(Math.ceil(length / 4) * 4); // zeros are not asked for, and cost as much again
    this.#bytes = new Uint8Array(memory);
    this.#shorts = new Uint16Array(memory);
    this.#floats = new Float32Array(memory);
    this.#used = 0;
  }
}

const slabBytes = 2 ** 16;
