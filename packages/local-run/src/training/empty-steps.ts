import { WorkflowError } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';

/** Counts steps in a row that trained nothing. */
export class EmptySteps {
  readonly #most: number | null;
  readonly #repair: string;
  #count = 0;
  #last: MetricsRecord | undefined;

  /** After `most` such steps, the run ends. Null means no limit. `repair` is the advice for the user. */
  constructor(most: number | null, repair: string) {
    this.#most = most;
    this.#repair = repair;
  }

  /** Starts counting from 0, because the user has started the training again. */
  reset(): void {
    this.#count = 0;
  }

  note(metrics: MetricsRecord): void {
    this.#count = isEmpty(metrics) ? this.#count + 1 : 0;
    this.#last = metrics;
  }

  /** Throws WorkflowError `nothing_trained` if the limit is reached. */
  check(): void {
    const last = this.#last;
    if (last !== undefined && this.#most !== null && this.#count >= this.#most)
      throw nothingTrained(this.#count, last, this.#repair);
  }
}

/**
 * Whether a step counts as empty. A step without anything to train is not an error if the policy always solves some
 * tasks and never solves the others.
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
