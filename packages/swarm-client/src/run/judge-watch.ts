/** Reports once for all episodes of a run that the judge cannot be reached, and once that it is back. */
export class JudgeWatch {
  readonly #report: (message: string) => void;
  readonly #onBack = new Set<() => void>();
  #isAway = false;

  constructor(report: (message: string) => void) {
    this.#report = report;
  }

  away(message: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#report(
      `The judge cannot be reached (${message}). Episodes that have ended wait for it, and ask again after growing gaps.`,
    );
  }

  /** Called when the judge has given a verdict. */
  answered(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#report('The judge is back.');
    for (const listener of this.#onBack) listener();
  }

  /** Calls the listener when the judge is back. Returns a function that removes the listener. */
  onBack = (listener: () => void): (() => void) => {
    this.#onBack.add(listener);
    return () => void this.#onBack.delete(listener);
  };
}
