/**
 * Token ids that are written once and then never change, so that prompts can be handed out as views instead of
 * copies. The memory is shared: a view goes to an engine's worker without a copy, and nobody can take it away.
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

  /** `full`: there is no room. `taken`: other ids stand there, or may be in somebody's prompt. Both write nothing. */
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
