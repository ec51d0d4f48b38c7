/**
 * Decides when a checkpoint is due: when repeating the steps since the last one would take too long. If saving is slow, it waits
 * until the steps have taken ten times as long, so that checkpoints take at most a tenth of the training.
 */
export class RecoveryBudget {
  readonly #maxSeconds: number;
  #sinceSaved = 0;
  #saving = 0;

  /** `maxSeconds`: the longest time that a recovery may spend on repeating steps. */
  constructor(maxSeconds: number) {
    this.#maxSeconds = maxSeconds;
  }

  /** Call this with the seconds that the update of a step took. */
  noteStep(seconds: number): void {
    this.#sinceSaved += seconds;
  }

  /** Call this after every checkpoint with the seconds that it took. */
  noteSaved(seconds: number): void {
    this.#sinceSaved = 0;
    this.#saving = seconds;
  }

  get isDue(): boolean {
    return this.#sinceSaved > Math.max(this.#maxSeconds, savingShare * this.#saving);
  }
}

const savingShare = 10;
