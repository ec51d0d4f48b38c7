/** A map that forgets its oldest entries: a server answers for months, and what it keeps must not grow. */
export class LatestMap<V> extends Map<string, V> {
  readonly #limit: number;
  /**
   * Goes on from the key that it gave last: a map remembers the places of deleted keys for a while, and to walk over them for
   * each new key costs more than the rest. What is set again moves to the end, so all that is left comes after it.
   */
  #oldest = this.keys();

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    while (this.size > this.#limit) this.#deleteOldest();
    return this;
  }

  #deleteOldest(): void {
    let { value: oldest } = this.#oldest.next();
    if (oldest === undefined) {
      this.#oldest = this.keys();
      oldest = this.#oldest.next().value;
    }
    if (oldest !== undefined) this.delete(oldest);
  }
}
