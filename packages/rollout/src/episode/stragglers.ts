import { WorkflowError } from '@agentjet/core';

/**
 * Finds groups that take much longer than the others of their batch. If such groups are given up, training is biased
 * towards short episodes. So no group is given up unless `rollout.straggler_patience` is set.
 */

export type StragglerOptions = {
  /** In ms. Null means that no group is ever given up. */
  readonly patienceMs: number | null;
  /** Returns true during an outage. Then no group counts as late. */
  readonly isPaused: () => boolean;
};

type Running = { readonly groupId: string; readonly stop: AbortController; isGivenUp: boolean };

/**
 * Watches the groups of one batch. The time of `patienceMs` starts when all groups have begun, no episode waits for a
 * worker, and half of the groups are done.
 */
export class Stragglers {
  readonly #options: StragglerOptions;
  readonly #running = new Set<Running>();
  #numBegun = 0;
  #numWaiting = 0;
  #isAllBegun = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StragglerOptions) {
    this.#options = options;
  }

  /** Runs the episodes of a group under a signal that also aborts when the group is given up. */
  async run<T>(
    groupId: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly result: T; readonly isGivenUp: boolean }> {
    if (this.#options.patienceMs === null) return { result: await work(signal), isGivenUp: false };
    const group: Running = { groupId, stop: new AbortController(), isGivenUp: false };
    const onAbort = (): void => group.stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#running.add(group);
    this.#numBegun++;
    try {
      return { result: await work(group.stop.signal), isGivenUp: group.isGivenUp };
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#running.delete(group);
      this.#look();
    }
  }

  /** Marks an episode that waits for a worker. Call the returned function when it gets one. */
  waiting(): () => void {
    this.#numWaiting++;
    return () => {
      this.#numWaiting--;
      this.#look();
    };
  }

  allBegun(): void {
    this.#isAllBegun = true;
    this.#look();
  }

  /** No group is given up after this call. */
  close(): void {
    clearTimeout(this.#timer);
    this.#isAllBegun = false;
  }

  #look(): void {
    const { patienceMs } = this.#options;
    const isHalfDone = this.#running.size > 0 && this.#running.size <= this.#numBegun / 2;
    if (patienceMs === null || !this.#isAllBegun || this.#numWaiting > 0 || !isHalfDone) return;
    this.#timer ??= setTimeout(() => this.#giveUp(patienceMs), patienceMs);
  }

  #giveUp(patienceMs: number): void {
    this.#timer = undefined;
    if (this.#options.isPaused()) return this.#look();
    for (const group of this.#running) {
      group.isGivenUp = true;
      group.stop.abort(
        new WorkflowError(
          'stale',
          `The group ${group.groupId} was given up: it took ${patienceMs / 1000} s longer than half of its batch (rollout.straggler_patience).`,
        ),
      );
    }
  }
}
