import { WorkflowError } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';

/** Counts steps in a row that trained nothing. */
export class EmptySteps {
  readonly #most: number | null;
  readonly #repair: string;
  #count = 0;
  #last: MetricsRecord | undefined;

  /** `most` is the number of such steps that ends the run; null means no limit. `repair` is the advice for the user. */
  constructor(most: number | null, repair: string) {
    this.#most = most;
    this.#repair = repair;
  }

  /** Begins to count again, because the user has started the training again. */
  reset(): void {
    this.#count = 0;
  }

  note(metrics: MetricsRecord): void {
    this.#count = isEmpty(metrics) ? this.#count + 1 : 0;
    this.#last = metrics;
  }

  /** Throws WorkflowError `nothing_trained` from the last step on that the limit allows. */
  check(): void {
    const last = this.#last;
    if (last !== undefined && this.#most !== null && this.#count >= this.#most)
      throw nothingTrained(this.#count, last, this.#repair);
  }
}

/**
 * A trained policy may always solve some tasks and never solve the others. Then a step has nothing to train, and this
 * is not an error.
 */
function isEmpty({
  trained_tokens: trained,
  policy_version: updates = 0,
  success_rate: success = 0,
}: MetricsRecord): boolean {
  const isSure = updates > 0 && success > 0;
  return trained === 0 && !isSure;
}

function nothingTrained(
  numSteps: number,
  { step, failed_episodes: failed = 0, episodes = 0 }: MetricsRecord,
  repair: string,
): WorkflowError {
  const why =
    failed === episodes
      ? `all ${episodes} episodes of the last one failed; \`--backbone=debug\` shows why`
      : 'the episodes of each task all got the same reward, or were too long';
  return new WorkflowError(
    'nothing_trained',
    `${numSteps} steps in a row, up to step ${step}, trained nothing: ${why}. ${repair}`,
  );
}
