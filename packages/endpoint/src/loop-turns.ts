/**
 * Admits bodies, or answers, a few at a time. Otherwise many concurrent ones, or a few large ones, would be handled
 * without a turn of the event loop in between, and nothing else would be answered meanwhile.
 */
export class LoopTurns {
  readonly #queue: { readonly bytes: number; readonly go: () => void }[] = [];
  /** Bytes admitted during this turn of the event loop. */
  #passed = 0;
  #isScheduled = false;

  /** Undefined if the bytes may be handled at once. */
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

/** These take about 20 ms to handle. */
const bytesPerTurn = 64 * 1024;
