import type { Hash } from './text-hash.js';

/** An index of rows: the position of each row's JSON, its place for messages, and hashes of its id and text. It takes 32 bytes a row. */
export class RowIndex {
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly places: Uint32Array;
  /** Row i has [2i] and [2i + 1]. */
  readonly ids: Uint32Array;
  readonly texts: Uint32Array;
  readonly size: number;

  /** `bytes`: the result of `toBytes`. */
  constructor(bytes: ArrayBuffer) {
    const size = bytes.byteLength / RowIndex.bytesPerRow;
    this.size = size;
    this.offsets = new Float64Array(bytes, 0, size);
    this.lengths = new Uint32Array(bytes, 8 * size, size);
    this.places = new Uint32Array(bytes, 12 * size, size);
    this.ids = new Uint32Array(bytes, 16 * size, 2 * size);
    this.texts = new Uint32Array(bytes, 24 * size, 2 * size);
  }

  static readonly bytesPerRow = 32;

  idOf(row: number, into: Hash): Hash {
    [into.high, into.low] = [this.ids[2 * row] ?? 0, this.ids[2 * row + 1] ?? 0];
    return into;
  }

  textOf(row: number, into: Hash): Hash {
    [into.high, into.low] = [this.texts[2 * row] ?? 0, this.texts[2 * row + 1] ?? 0];
    return into;
  }
}

export type IndexedRow = {
  readonly offset: number;
  readonly length: number;
  readonly place: number;
  readonly id: Hash;
  readonly text: Hash;
};

/** Collects rows and builds an index. */
export class RowIndexBuilder {
  #size = 0;
  #room = 1024;
  #offsets = new Float64Array(this.#room);
  /** Length, place, and the four halves of the hashes. */
  #numbers = new Uint32Array(6 * this.#room);

  get size(): number {
    return this.#size;
  }

  add({ offset, length, place, id, text }: IndexedRow): void {
    if (this.#size === this.#room) this.#grow();
    const at = 6 * this.#size;
    this.#offsets[this.#size++] = offset;
    this.#numbers[at] = length;
    this.#numbers[at + 1] = place;
    this.#numbers[at + 2] = id.high;
    this.#numbers[at + 3] = id.low;
    this.#numbers[at + 4] = text.high;
    this.#numbers[at + 5] = text.low;
  }

  placeOf(row: number): number {
    return this.#numbers[6 * row + 1] ?? 0;
  }

  toBytes(): ArrayBuffer {
    const bytes = new ArrayBuffer(this.#size * RowIndex.bytesPerRow);
    const index = new RowIndex(bytes);
    index.offsets.set(this.#offsets.subarray(0, this.#size));
    for (let row = 0; row < this.#size; row++) {
      const at = 6 * row;
      index.lengths[row] = this.#numbers[at] ?? 0;
      index.places[row] = this.#numbers[at + 1] ?? 0;
      index.ids[2 * row] = this.#numbers[at + 2] ?? 0;
      index.ids[2 * row + 1] = this.#numbers[at + 3] ?? 0;
      index.texts[2 * row] = this.#numbers[at + 4] ?? 0;
      index.texts[2 * row + 1] = this.#numbers[at + 5] ?? 0;
    }
    return bytes;
  }

  #grow(): void {
    this.#room *= 2;
    const [offsets, numbers] = [this.#offsets, this.#numbers];
    this.#offsets = new Float64Array(this.#room);
    this.#offsets.set(offsets);
    this.#numbers = new Uint32Array(6 * this.#room);
    this.#numbers.set(numbers);
  }
}
