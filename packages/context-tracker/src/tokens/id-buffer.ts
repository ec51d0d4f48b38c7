/**
 * Token ids that are written once and never change, so that prompts can be views instead of copies. The memory is
 * shared, so an engine's worker gets a view without a copy. Shared memory cannot be detached.
 */
export class IdBuffer {
  readonly #ids: Int32Array;
  #numWritten = 0;

  constructor(capacity: number) {
    this.#ids = new Int32Array(new SharedArrayBuffer(capacity * Int32Array.BYTES_PER_ELEMENT));
  }

  /** Shape [end - start]. */
  view(start: number, end: number): Int32Array {
    return this.#ids.subarray(start, end);
  }

  /**
   * Returns `full` if there is no room. Returns `taken` if other ids are there already, because a prompt may contain
   * those. In both cases nothing is written.
   */
  write(at: number, ids: Int32Array): 'written' | 'full' | 'taken' {
    if (at + ids.length > this.#ids.length) return 'full';
    const numKnown = Math.min(ids.length, Math.max(0, this.#numWritten - at));
    for (let index = 0; index < numKnown; index++) {
      if (this.#ids[at + index] !== ids[index]) return 'taken';
    }
    this.#ids.set(numKnown === 0 ? ids : ids.subarray(numKnown), at + numKnown);
    this.#numWritten = Math.max(this.#numWritten, at + ids.length);
    return 'written';
  }
}
