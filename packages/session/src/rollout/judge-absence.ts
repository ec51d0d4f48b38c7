/**
 * Whether the judge can be reached, as the episodes that wait for it tell. It is away from the first one that waits until any episode
 * has a verdict, or until none waits any more.
 */
export class JudgeAbsence {
  readonly #waiting = new Set<string>();
  readonly #onBack = new Set<() => void>();
  #isAway = false;

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Also after the judge is back: each one has to ask again. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** The episode could not ask it, and waits. True if that is news. */
  note(episodeId: string): boolean {
    const isNews = !this.#isAway;
    this.#waiting.add(episodeId);
    this.#isAway = true;
    return isNews;
  }

  /** The episode waits no more. True if that says that the judge is back. */
  leave(episodeId: string, hasVerdict: boolean): boolean {
    this.#waiting.delete(episodeId);
    const isBack = this.#isAway && hasVerdict;
    if (isBack || this.#waiting.size === 0) this.#isAway = false;
    if (isBack) for (const listener of this.#onBack) listener();
    return isBack;
  }

  /** Calls the listener when the judge is back. The returned function removes the listener. */
  onBack(listener: () => void): () => void {
    this.#onBack.add(listener);
    return () => void this.#onBack.delete(listener);
  }
}
