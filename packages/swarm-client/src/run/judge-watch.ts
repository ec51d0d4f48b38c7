/** Says once for all the episodes of a run that the judge cannot be reached, and once that it is back. */
export class JudgeWatch {
  readonly #tell: (message: string) => void;
  readonly #onBack = new Set<() => void>();
  #isAway = false;

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
  }

  away(message: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#tell(
      `The judge cannot be reached (${message}). Episodes that have ended wait for it, and ask again after growing gaps.`,
    );
  }

  /** It gave a verdict. */
  answered(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#tell('The judge is back.');
    for (const listener of this.#onBack) listener();
  }

  /** Tells those that wait when the judge is back. What it returns ends that. */
  onBack = (listener: () => void): (() => void) => {
    this.#onBack.add(listener);
    return () => void this.#onBack.delete(listener);
  };
}
