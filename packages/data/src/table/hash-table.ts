import type { Hash } from './text-hash.js';

/** Maps 64-bit hashes to numbers, several per hash, in 12 bytes each. A Map of a million strings takes ten times that. */
export class HashTable {
  readonly #mask: number;
  readonly #slots: Uint32Array;
  readonly #hashes: Uint32Array;
  readonly #values: Uint32Array;
  #size = 0;

  /** Reserves room for `most` numbers. */
  constructor(most: number) {
    const numSlots = 2 ** Math.ceil(Math.log2(Math.max(16, 2 * most)));
    this.#mask = numSlots - 1;
    this.#slots = new Uint32Array(numSlots);
    this.#hashes = new Uint32Array(2 * most);
    this.#values = new Uint32Array(most);
  }

  /** Returns the numbers under this hash, in the order in which they were added. */
  *find({ high, low }: Hash): Generator<number> {
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const entry = this.#slots[slot] ?? 0;
      if (entry === 0) return;
      const at = entry - 1;
      if (this.#hashes[2 * at] === high && this.#hashes[2 * at + 1] === low) yield this.#values[at] ?? 0;
    }
  }

  /** Returns whether there is a number under this hash. */
  has({ high, low }: Hash): boolean {
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const entry = this.#slots[slot] ?? 0;
      if (entry === 0) return false;
      if (this.#hashes[2 * entry - 2] === high && this.#hashes[2 * entry - 1] === low) return true;
    }
  }

  add({ high, low }: Hash, value: number): void {
    const at = this.#size++;
    this.#hashes[2 * at] = high;
    this.#hashes[2 * at + 1] = low;
    this.#values[at] = value;
    let slot = low & this.#mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = at + 1;
  }
}
