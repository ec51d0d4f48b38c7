/**
 * Caches the ids of long texts. The episodes of a run share system prompts, tools and documents of many thousand
 * tokens. The cache removes the least recently used texts first.
 */
export class LongTexts {
  readonly #encode: (text: string) => Int32Array;
  readonly #known = new Map<string, Int32Array>();
  #numKept = 0;

  constructor(encode: (text: string) => Int32Array) {
    this.#encode = encode;
  }

  /** Returns whether the text is long enough for the cache. Encoding a shorter text costs less than caching it. */
  static isLong({ length }: string): boolean {
    return length >= leastLength;
  }

  /** Returns the ids of `text`. Do not write to them. */
  encode(text: string): Int32Array {
    const ids = this.#known.get(text) ?? this.#encode(text);
    this.#keep(text, ids);
    return ids;
  }

  /** Stores the text as the newest one. */
  #keep(text: string, ids: Int32Array): void {
    if (!this.#known.delete(text)) this.#numKept += text.length;
    this.#known.set(text, ids);
    for (const [oldest] of this.#known) {
      if (this.#numKept <= mostKept) break;
      this.#known.delete(oldest);
      this.#numKept -= oldest.length;
    }
  }
}

const leastLength = 4096;

/** The maximum number of characters of all cached texts. */
const mostKept = 8 * 2 ** 20;
