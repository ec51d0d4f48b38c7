/**
 * Keeps values that were made from texts. The episodes of a run share beginnings, system prompts, tools and documents.
 * The cache removes the least recently used texts first.
 */
export class RecentTexts<Value> {
  readonly #known = new Map<string, { readonly value: Value }>();
  readonly #mostKept: number;
  #numKept = 0;

  /** `mostKept` is the maximum number of characters of all texts. */
  constructor(mostKept = 8 * 2 ** 20) {
    this.#mostKept = mostKept;
  }

  /** Returns the value of `text`, and makes it if it is not known. Do not change it. */
  get(text: string, make: (text: string) => Value): Value {
    const found = this.#known.get(text) ?? { value: make(text) };
    this.#keep(text, found);
    return found.value;
  }

  /** Stores the text as the newest one. */
  #keep(text: string, found: { readonly value: Value }): void {
    if (!this.#known.delete(text)) this.#numKept += text.length;
    this.#known.set(text, found);
    for (const [oldest] of this.#known) {
      if (this.#numKept <= this.#mostKept) break;
      this.#known.delete(oldest);
      this.#numKept -= oldest.length;
    }
  }
}
