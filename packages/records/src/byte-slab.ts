/**
 * Memory for the bytes of many end records. Allocating or freeing memory for each record costs more than filling it.
 * Taken bytes are never reused: a slab is freed when none of its bytes are in use.
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

  /** The slab of the last `take`, as numbers of two bytes. */
  get shorts(): Uint16Array {
    return this.#shorts;
  }

  /** The same slab as numbers of four bytes. */
  get floats(): Float32Array {
    return this.#floats;
  }

  /** The same slab as bytes. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  #begin(length: number): void {
    const { buffer: memory } = Buffer.allocUnsafeSlow(Math.ceil(length / 4) * 4); // zeroing would double the cost
    this.#bytes = new Uint8Array(memory);
    this.#shorts = new Uint16Array(memory);
    this.#floats = new Float32Array(memory);
    this.#used = 0;
  }
}

const slabBytes = 2 ** 16;
