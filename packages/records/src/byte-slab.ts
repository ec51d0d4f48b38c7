/**
 * Memory for the bytes of many end records. The records share memory, because allocating and freeing memory for each of
 * them takes longer than filling it. Bytes that were taken are never taken again. A slab is freed when none of its
 * bytes are in use.
 */
export class ByteSlab {
  #bytes = new Uint8Array(0);
  #shorts = new Uint16Array(0);
  #floats = new Float32Array(0);
  #used = 0;

  /**
   * Returns the offset of `length` free bytes. The offset is a multiple of four, and the content of the bytes is
   * undefined.
   */
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
    // The bytes are not set to 0, because this would take as long as filling them.
    const { buffer: memory } = Buffer.allocUnsafeSlow(Math.ceil(length / 4) * 4);
    this.#bytes = new Uint8Array(memory);
    this.#shorts = new Uint16Array(memory);
    this.#floats = new Float32Array(memory);
    this.#used = 0;
  }
}

const slabBytes = 2 ** 16;
