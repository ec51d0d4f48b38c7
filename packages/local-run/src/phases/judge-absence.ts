/**
 * Determines from the episodes that wait for the judge whether it can be reached. The judge counts as away as soon as
 * an episode waits for it. It counts as back as soon as an episode gets a verdict, or no episode waits any more.
 */
export class JudgeAbsence {
  readonly #waiting = new Set<string>();
  readonly #onBack = new Set<() => void>();
  #isAway = false;

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Whether episodes wait for the judge, including those that have not asked again since the judge came back. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Records that the episode could not ask the judge and waits. Returns true if the judge was not known to be away. */
  note(episodeId: string): boolean {
    const isNews = !this.#isAway;
    this.#waiting.add(episodeId);
    this.#isAway = true;
    return isNews;
  }

  /** Records that the episode does not wait any more. Returns true if this shows that the judge is back. */
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
