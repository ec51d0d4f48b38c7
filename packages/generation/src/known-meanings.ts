/** Turns texts into unit vectors; vectors of similar meaning are close to each other. */
export type Meaning = {
  readonly embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
  /** Two texts have the same meaning if the cosine of their vectors, 0 to 1, is at least this. */
  readonly similarity: number;
};

/** A set of texts with different meanings. */
export class KnownMeanings {
  readonly #meaning: Meaning;
  readonly #prepared = new Map<string, Float32Array>();
  readonly #kept: Float32Array[] = [];

  constructor(meaning: Meaning) {
    this.#meaning = meaning;
  }

  /** Fetches the vectors of texts that `add` will get. */
  async prepare(texts: readonly string[]): Promise<void> {
    const vectors = texts.length === 0 ? [] : await this.#meaning.embed(texts);
    for (const [at, text] of texts.entries()) this.#prepared.set(text, vectors[at] ?? new Float32Array());
  }

  /** Returns false if an earlier text has the same meaning. Otherwise keeps this one. */
  add(text: string): boolean {
    const vector = this.#prepared.get(text);
    this.#prepared.delete(text);
    if (vector === undefined) throw new Error('The vector of this string was not prepared.');
    if (this.#kept.some((other) => dot(vector, other) >= this.#meaning.similarity)) return false;
    this.#kept.push(vector);
    return true;
  }
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}
