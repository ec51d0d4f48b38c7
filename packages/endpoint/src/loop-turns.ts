/**
 * Lets bodies in, or answers out, a few at a time: many that come together, or a few large ones, would otherwise be handled
 * one after the other without a turn of the event loop in between, and nothing else would be answered meanwhile.
 */
export class LoopTurns {
  readonly #queue: { readonly bytes: number; readonly go: () => void }[] = [];
  /** Let in during this turn of the event loop. */
  #passed = 0;
  #isScheduled = false;

  /** Undefined if it may be handled at once. */
  take(bytes: number): Promise<void> | undefined {
    this.#schedule();
    if (this.#queue.length > 0 || this.#passed >= bytesPerTurn) {
      return new Promise((go) => this.#queue.push({ bytes, go }));
    }
    this.#passed += bytes;
    return undefined;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    this.#passed = 0;
    let next = this.#queue[0];
    for (; next !== undefined && this.#passed < bytesPerTurn; next = this.#queue[0]) {
      this.#queue.shift();
      this.#passed += next.bytes;
      next.go();
    }
    if (next !== undefined) this.#schedule();
  }
}

/** Handled in some 20 ms. */
const bytesPerTurn = 64 * 1024;
