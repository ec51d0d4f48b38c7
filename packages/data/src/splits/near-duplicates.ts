/**
 * Finds texts that are nearly the same, by the share of word 3-grams that two texts have in common (Jaccard). MinHash (Broder, 1997)
 * with locality-sensitive bands finds candidates among earlier texts. Their 3-grams are then compared, so every reported similarity is
 * real. If there are more than 512 3-grams, the 512 smallest hashes represent all. The same texts in the same order always give the
 * same result.
 */

const numHashes = 64;
/** The maximum number of candidates that are compared for one text. */
const mostCandidates = 50;
const wantedRecall = 0.999;
const mostGrams = 512;

const multipliers = Uint32Array.from({ length: numHashes }, (_, at) => mix(2 * at + 1) | 1);
const offsets = Uint32Array.from({ length: numHashes }, (_, at) => mix(2 * at + 2));

export class NearDuplicates {
  readonly #threshold: number;
  readonly #perBand: number;
  readonly #heads: readonly Uint32Array[];
  readonly #next: readonly Uint32Array[];
  readonly #bands: Uint32Array;
  readonly #mask: number;
  /** The 3-grams of all kept texts, one text after the other, and the position at which each text begins. */
  #grams = new Uint32Array(1 << 16);
  readonly #starts: Float64Array;
  #size = 0;

  /** `threshold`: the similarity from which two texts count as duplicates, above 0. `most`: the number of texts that will be added. */
  constructor(threshold: number, most: number) {
    this.#threshold = threshold;
    this.#perBand = [4, 2, 1].find((rows) => recall(threshold, rows) >= wantedRecall) ?? 1;
    const numBands = numHashes / this.#perBand;
    const numSlots = 2 ** Math.ceil(Math.log2(Math.max(16, most)));
    this.#mask = numSlots - 1;
    this.#heads = Array.from({ length: numBands }, () => new Uint32Array(numSlots));
    this.#next = Array.from({ length: numBands }, () => new Uint32Array(most));
    this.#bands = new Uint32Array(numBands * most);
    this.#starts = new Float64Array(most + 1);
  }

  /**
   * Returns the earlier text that this one nearly repeats, as its number in the order of kept texts. If there is none, keeps the
   * text and returns undefined.
   */
  add(text: string): number | undefined {
    const grams = wordGrams(text);
    const bands = this.#toBands(grams);
    for (const earlier of this.#candidates(bands))
      if (similarity(grams, this.#gramsOf(earlier)) >= this.#threshold) return earlier;
    this.#keep(grams, bands);
    return undefined;
  }

  #gramsOf(at: number): Uint32Array {
    return this.#grams.subarray(this.#starts[at], this.#starts[at + 1]);
  }

  #toBands(grams: Uint32Array): Uint32Array {
    const least = new Uint32Array(numHashes).fill(0xffffffff);
    for (const gram of grams)
      for (let at = 0; at < numHashes; at++) {
        const value = mixWith(gram, at);
        if (value < (least[at] ?? 0)) least[at] = value;
      }
    const bands = new Uint32Array(numHashes / this.#perBand);
    for (let band = 0; band < bands.length; band++) {
      let hash = 0;
      for (let at = 0; at < this.#perBand; at++) hash = mix(hash ^ (least[band * this.#perBand + at] ?? 0));
      bands[band] = hash;
    }
    return bands;
  }

  /** Returns candidates, the oldest first. */
  #candidates(bands: Uint32Array): readonly number[] {
    const found = new Set<number>();
    for (const [band, hash] of bands.entries()) {
      let entry = this.#heads[band]?.[hash & this.#mask] ?? 0;
      for (; entry !== 0 && found.size < mostCandidates; entry = this.#next[band]?.[entry - 1] ?? 0)
        if (this.#bands[(entry - 1) * bands.length + band] === hash) found.add(entry - 1);
    }
    return [...found].toSorted((left, right) => left - right);
  }

  #keep(grams: Uint32Array, bands: Uint32Array): void {
    const at = this.#size++;
    const start = this.#starts[at] ?? 0;
    this.#starts[at + 1] = start + grams.length;
    this.#grams = withRoom(this.#grams, start + grams.length);
    this.#grams.set(grams, start);
    this.#bands.set(bands, at * bands.length);
    for (const [band, hash] of bands.entries()) {
      const [heads, next] = [this.#heads[band], this.#next[band]];
      if (heads === undefined || next === undefined) continue;
      next[at] = heads[hash & this.#mask] ?? 0;
      heads[hash & this.#mask] = at + 1;
    }
  }
}

/** Returns the probability that two texts of this similarity share a band. */
function recall(similar: number, perBand: number): number {
  return 1 - (1 - similar ** perBand) ** (numHashes / perBand);
}

function withRoom(numbers: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  if (size <= numbers.length) return numbers;
  const larger = new Uint32Array(2 ** Math.ceil(Math.log2(size)));
  larger.set(numbers);
  return larger;
}

/** Returns the hashes of all runs of three words, ascending, or of all words together if there are fewer. */
export function wordGrams(text: string): Uint32Array {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [text];
  const hashes = words.map(hashWord);
  if (hashes.length < 3) return Uint32Array.of(hashes.reduce((hash, word) => mix(hash ^ word), 1));
  const grams = new Set<number>();
  for (let at = 0; at + 2 < hashes.length; at++)
    grams.add(mix(mix(mix(hashes[at] ?? 0) ^ (hashes[at + 1] ?? 0)) ^ (hashes[at + 2] ?? 0)));
  return Uint32Array.from(grams).sort().subarray(0, mostGrams);
}

/** Returns the share of common hashes among all hashes of both, 0 to 1. Both lists must be ascending. */
export function similarity(left: Uint32Array, right: Uint32Array): number {
  let shared = 0;
  for (let [a, b] = [0, 0]; a < left.length && b < right.length; ) {
    const [one, other] = [left[a] ?? 0, right[b] ?? 0];
    if (one === other) shared++;
    if (one <= other) a++;
    if (other <= one) b++;
  }
  return shared / (left.length + right.length - shared);
}

function hashWord(word: string): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function mixWith(gram: number, at: number): number {
  const value = Math.imul(gram, multipliers[at] ?? 1) + (offsets[at] ?? 0);
  return (value ^ (value >>> 15)) >>> 0;
}

/** The finalizer of MurmurHash3 (A. Appleby). */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
