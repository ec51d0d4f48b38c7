/** The most that the limit grows, and after how many times of its least it is half as long again. */
const most = 30;
const halving = 10;

/**
 * How long a tracker may idle before it is put away. To build one again costs a busy server what it lacks: if calls come back later than
 * the limit only because the server is slow, every call builds a tracker and makes the next one later still. So the limit
 * grows to twice the time after which trackers that were put away are asked for, and shrinks slowly when none is.
 */
export class IdleLimit {
  readonly #leastMs: number;
  #ms: number;
  #lookedMs = -Infinity;
  /** When the trackers that were put away were used last. */
  readonly #away = new Map<string, number>();

  constructor(leastMs: number) {
    this.#leastMs = leastMs;
    this.#ms = leastMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Whether to look for idle trackers: about once a second, since a map remembers the places of those that left. */
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

  /** A tracker is opened: for the first time, or again. */
  noteOpened(episodeId: string, nowMs: number): void {
    const usedMs = this.#away.get(episodeId);
    if (!this.#away.delete(episodeId) || usedMs === undefined) return;
    this.#ms = Math.min(most * this.#leastMs, Math.max(this.#ms, 2 * (nowMs - usedMs)));
  }

  /** The episode is over. */
  forget(episodeId: string): void {
    this.#away.delete(episodeId);
  }
}
