/** An ArrayBuffer that was made with `maxByteLength`. The types of ES2023 do not have it yet. */
type ResizableBuffer = ArrayBuffer & { resize(numBytes: number): void };
const ResizableBuffer = ArrayBuffer as unknown as new (
  numBytes: number,
  limits: { readonly maxByteLength: number },
) => ResizableBuffer;

/**
 * Floats that grow without a copy, and whose memory goes back to the system as soon as they shrink. An ordinary array
 * keeps its memory until garbage is collected, and the C library often keeps it even longer.
 */
export class ResizableFloats {
  readonly #buffer: ResizableBuffer;
  #values: Float32Array;

  /** Reserves addresses for that many floats, and no memory. */
  constructor(maxLength: number) {
    this.#buffer = new ResizableBuffer(0, { maxByteLength: maxLength * Float32Array.BYTES_PER_ELEMENT });
    this.#values = new Float32Array(this.#buffer);
  }

  /** The floats, until the next `resize`. */
  get values(): Float32Array {
    return this.#values;
  }

  /** Keeps the first floats. New ones are 0. */
  resize(length: number): void {
    this.#buffer.resize(length * Float32Array.BYTES_PER_ELEMENT);
    this.#values = new Float32Array(this.#buffer, 0, length);
  }
}
