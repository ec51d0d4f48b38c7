/**
 * Finds tasks whose attempts are lost because of the task itself, such as one whose agent always breaks its sandbox. A
 * task is suspect if attempts were lost in three of its places and none of them finished, while the attempts of other
 * tasks since its first loss finished at least three times as often as they were lost. Its next losses count as
 * failures.
 */
export class SuspectTasks {
  readonly #lost = new Map<string, LostTask>();
  readonly #suspects = new Set<string>();
  #numKept = 0;
  #numLost = 0;

  kept(taskId: string): void {
    this.#numKept++;
    this.#lost.delete(taskId);
    this.#suspects.delete(taskId);
  }

  /**
   * Records a lost attempt and returns whether its task is suspect, including this loss. `place` is unique in the task.
   */
  lost(taskId: string, place: string): boolean {
    const task = this.#lost.get(taskId) ?? {
      places: new Set(),
      losses: 0,
      keptBefore: this.#numKept,
      lostBefore: this.#numLost,
    };
    this.#lost.set(taskId, task);
    task.places.add(place);
    task.losses++;
    this.#numLost++;
    const othersKept = this.#numKept - task.keptBefore;
    const othersLost = this.#numLost - task.lostBefore - task.losses;
    if (task.places.size >= 3 && othersKept >= 3 && othersKept >= 3 * othersLost) this.#suspects.add(taskId);
    return this.#suspects.has(taskId);
  }

  /** Returns suspect tasks in the order in which they were found. */
  list(): readonly string[] {
    return [...this.#suspects];
  }
}

type LostTask = {
  readonly places: Set<string>;
  losses: number;
  readonly keptBefore: number;
  readonly lostBefore: number;
};
