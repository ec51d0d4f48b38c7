import type { Notice } from '../log/log-entry.js';

/** If more than this fraction of the groups is given up, training is biased towards short episodes. */
const tolerable = 0.02;

/** Reports once if more groups than can be tolerated were given up because of `rollout.straggler_patience`. */
export class StragglerNotice {
  readonly #onNotice: Notice | undefined;
  #numTrained = 0;
  #numGiven = 0;
  #isTold = false;

  constructor(onNotice?: Notice) {
    this.#onNotice = onNotice;
  }

  noteTrained(numGroups: number): void {
    this.#numTrained += numGroups;
  }

  noteGiven(numGroups: number): void {
    this.#numGiven += numGroups;
    const all = this.#numGiven + this.#numTrained;
    if (this.#isTold || this.#numGiven <= tolerable * all) return;
    this.#isTold = true;
    this.#onNotice?.(
      `${this.#numGiven} of ${all} groups were given up because they took too long. Training now sees fewer long episodes than there are: see trained_over_begun_tokens in metrics.jsonl. Raise rollout.straggler_patience, or set it to null.`,
      'warn',
    );
  }
}
