/** The limit is at most this multiple of its minimum. */
const most = 30;
/** The limit halves within a time of this many minimums. */
const halving = 10;

/**
 * The time that a tracker may be idle before it is removed from memory. Rebuilding a tracker costs processor time,
 * which a busy server lacks: if the pauses between calls exceed the limit only because the server is slow, every call
 * rebuilds a tracker and delays the next call further. So the limit grows to twice the idle time of the trackers that
 * were rebuilt, and shrinks slowly if none were rebuilt.
 */
export class IdleLimit {
  readonly #leastMs: number;
  #ms: number;
  #lookedMs = -Infinity;
  /** When each removed tracker was last used. */
  readonly #away = new Map<string, number>();

  constructor(leastMs: number) {
    this.#leastMs = leastMs;
    this.#ms = leastMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /**
   * Whether to look for idle trackers now. This is true about once a second. A search for every call would be slow,
   * because a map keeps the slots of deleted entries.
   */
  isDue(nowMs: number): boolean {
    const passedMs = nowMs - this.#lookedMs;
    if (passedMs < Math.min(1000, this.#leastMs / 2)) return false;
    this.#lookedMs = nowMs;
    if (passedMs > 0) this.#ms = Math.max(this.#leastMs, this.#ms * 2 ** (-passedMs / (halving * this.#leastMs)));
    return true;
  }

  notePutAway(episodeId: string, usedMs: number): void {
    this.#away.set(episodeId, usedMs);
  }

  /** Notes that a tracker is opened, for the first time or again. */
  noteOpened(episodeId: string, nowMs: number): void {
    const usedMs = this.#away.get(episodeId);
    if (!this.#away.delete(episodeId) || usedMs === undefined) return;
    this.#ms = Math.min(most * this.#leastMs, Math.max(this.#ms, 2 * (nowMs - usedMs)));
  }

  /** Notes that the episode is over. */
  forget(episodeId: string): void {
    this.#away.delete(episodeId);
  }
}
