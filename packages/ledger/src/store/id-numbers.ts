/**
 * Maps an id to its number in the store. Memory holds a hash and a number for each id, about 25 bytes, while the ids
 * themselves are in the store. Two ids may have the same hash, so the reader must compare the id in the store. The
 * first byte of the hash chooses one of 256 tables, which grow one at a time: growing one large table would block the
 * event loop.
 */
export class IdNumbers {
  readonly #tables = new Map<number, NumberTable>();

  /** The number of ids. */
  get size(): number {
    let size = 0;
    for (const table of this.#tables.values()) size += table.count;
    return size;
  }

  add(id: string, number: number): void {
    const hash = hashOf(id);
    const table = this.#tables.get(hash >>> 24) ?? new NumberTable();
    this.#tables.set(hash >>> 24, table);
    table.add(hash, number);
  }

  /** Returns numbers that the id may have. */
  *candidates(id: string): Generator<number> {
    const hash = hashOf(id);
    const table = this.#tables.get(hash >>> 24);
    if (table !== undefined) yield* table.find(hash);
  }

  /** Returns all numbers, each once. */
  numbers(): ReadonlySet<number> {
    const all = new Set<number>();
    for (const table of this.#tables.values()) for (const number of table.all()) all.add(number);
    return all;
  }
}

/** A hash table with open addressing, whose keys are hashes. */
class NumberTable {
  #hashes = new Uint32Array(64);
  /** One more than the number. Zero marks a free slot. */
  #numbers = new Float64Array(64);
  count = 0;

  add(hash: number, number: number): void {
    if (2 * this.count >= this.#numbers.length) this.#grow();
    this.#put(hash, number + 1);
  }

  *find(hash: number): Generator<number> {
    const mask = this.#numbers.length - 1;
    for (let at = hash & mask; this.#numbers[at] !== 0; at = (at + 1) & mask)
      if (this.#hashes[at] === hash) yield (this.#numbers[at] ?? 0) - 1;
  }

  *all(): Generator<number> {
    for (const number of this.#numbers) if (number !== 0) yield number - 1;
  }

  #put(hash: number, number: number): void {
    const mask = this.#numbers.length - 1;
    let at = hash & mask;
    for (; this.#numbers[at] !== 0; at = (at + 1) & mask)
      if (this.#hashes[at] === hash && this.#numbers[at] === number) return;
    this.#hashes[at] = hash;
    this.#numbers[at] = number;
    this.count++;
  }

  #grow(): void {
    const [hashes, numbers] = [this.#hashes, this.#numbers];
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#numbers = new Float64Array(2 * numbers.length);
    this.count = 0;
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
