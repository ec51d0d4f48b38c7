/** A map that forgets its oldest entries. A server may run for months, so the map must not grow without limit. */
export class LatestMap<V> extends Map<string, V> {
  readonly #limit: number;
  /**
   * An iterator that continues after the last key that it returned. A new iterator for each new key would be slow,
   * because a map keeps the slots of deleted keys for a while and an iterator has to skip them. A key that is set again
   * moves to the end, so all remaining keys come after the last returned key.
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
