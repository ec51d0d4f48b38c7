/**
 * When a checkpoint is due because making the steps since the last one again would take too long. Where saving is slow, steps go on
 * for ten times as long as it takes: checkpoints cost a tenth of the training at most.
 */
export class RecoveryBudget {
  readonly #maxSeconds: number;
  #sinceSaved = 0;
  #saving = 0;

  /** `maxSeconds`: what a recovery may spend on steps. */
  constructor(maxSeconds: number) {
    this.#maxSeconds = maxSeconds;
  }

  /** To be told how many seconds the update of a step took. */
  noteStep(seconds: number): void {
    this.#sinceSaved += seconds;
  }

  /** To be told of every checkpoint, and how many seconds it took. */
  noteSaved(seconds: number): void {
    this.#sinceSaved = 0;
    this.#saving = seconds;
  }

  get isDue(): boolean {
    return this.#sinceSaved > Math.max(this.#maxSeconds, savingShare * this.#saving);
  }
}

const savingShare = 10;
