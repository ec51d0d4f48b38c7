/**
 * Limits the bytes of bodies, or of answers, that are handled in one turn of the event loop. Otherwise many concurrent
 * bodies, or a few large ones, would fill a single turn, and all other requests would wait.
 */
export class LoopTurns {
  readonly #queue: { readonly bytes: number; readonly go: () => void }[] = [];
  /** Bytes admitted during this turn of the event loop. */
  #passed = 0;
  #isScheduled = false;

  /** Returns a promise to wait for, or undefined if the bytes may be handled at once. */
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

/** How many bytes one turn of the event loop may handle. They take about 20 ms. */
const bytesPerTurn = 64 * 1024;
