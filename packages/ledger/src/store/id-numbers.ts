/**
 * Maps an id to its number in the store. Memory holds a hash and a number for each id, about 25 bytes, while the ids
 * themselves are in the store. Two ids may have the same hash, so the reader must compare the id in the store.
 */
export class IdNumbers {
  #hashes = new Uint32Array(64);
  /** One more than the number. Zero marks a free slot. */
  #numbers = new Float64Array(64);
  #count = 0;

  /** The number of ids. */
  get size(): number {
    return this.#count;
  }

  add(id: string, number: number): void {
    if (2 * this.#count >= this.#numbers.length) this.#grow();
    this.#put(hashOf(id), number + 1);
  }

  /** Returns numbers that the id may have. */
  *candidates(id: string): Generator<number> {
    const hash = hashOf(id);
    const mask = this.#numbers.length - 1;
    for (let at = hash & mask; this.#numbers[at] !== 0; at = (at + 1) & mask)
      if (this.#hashes[at] === hash) yield (this.#numbers[at] ?? 0) - 1;
  }

  /** Returns all numbers, each once. */
  numbers(): ReadonlySet<number> {
    return new Set([...this.#numbers].filter((number) => number !== 0).map((number) => number - 1));
  }

  #put(hash: number, number: number): void {
    const mask = this.#numbers.length - 1;
    let at = hash & mask;
    for (; this.#numbers[at] !== 0; at = (at + 1) & mask)
      if (this.#hashes[at] === hash && this.#numbers[at] === number) return;
    this.#hashes[at] = hash;
    this.#numbers[at] = number;
    this.#count++;
  }

  #grow(): void {
    const [hashes, numbers] = [this.#hashes, this.#numbers];
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#numbers = new Float64Array(2 * numbers.length);
    this.#count = 0;
    for (let at = 0; at < numbers.length; at++) if (numbers[at] !== 0) this.#put(hashes[at] ?? 0, numbers[at] ?? 0);
  }
}

/** FNV-1a, with the upper bits mixed into the lower ones. */
function hashOf(id: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
