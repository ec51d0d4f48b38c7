/** Receipts and rewards as the programs report them. */
export class Scores {
  readonly receipts = new Set<string>();
  readonly #late = new Map<string, number[]>();
  #waiting: { readonly program: string | undefined; readonly resolve: () => void }[] = [];

  note(share: string, program: string, episodeId: string, reward: number): void {
    this.receipts.add(episodeId);
    const late = this.#late.get(share) ?? [];
    this.#late.set(share, late);
    late.push(reward);
    const isTold = ({ program: wanted }: { readonly program: string | undefined }): boolean =>
      wanted === undefined || wanted === program;
    for (const { resolve } of this.#waiting.filter(isTold)) resolve();
    this.#waiting = this.#waiting.filter((one) => !isTold(one));
  }

  /** Resolves with the next receipt, of this program or of any. */
  next(program?: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ program, resolve }));
  }

  /** Returns mean rewards by share since the last call. */
  take(): Readonly<Record<string, number>> {
    const means = [...this.#late].map(([share, rewards]) => {
      const sum = rewards.reduce((total, reward) => total + reward, 0);
      return [share, sum / Math.max(1, rewards.length)] as const;
    });
    this.#late.clear();
    return Object.fromEntries(means.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
