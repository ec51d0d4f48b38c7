import { WorkflowError } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';

/** Counts steps in a row that trained nothing. */
export class EmptySteps {
  readonly #most: number | null;
  readonly #repair: string;
  #count = 0;
  #last: MetricsRecord | undefined;
  #bestSuccess = 0;

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
    this.#bestSuccess = Math.max(this.#bestSuccess, metrics.success_rate ?? 0);
  }

  /** Throws WorkflowError `nothing_trained` if the limit is reached. */
  check(): void {
    const last = this.#last;
    if (last !== undefined && this.#most !== null && this.#count >= this.#most)
      throw nothingTrained(this.#count, last, { repair: this.#repair, bestSuccess: this.#bestSuccess });
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
  last: MetricsRecord,
  { repair, bestSuccess }: { readonly repair: string; readonly bestSuccess: number },
): WorkflowError {
  const { step, failed_episodes: failed = 0, episodes = 0 } = last;
  const why =
    failed === episodes
      ? `all ${episodes} episodes of the last one failed; \`--backbone=debug\` shows why`
      : describeLeftOut(last);
  const { policy_version: updates = 0, success_rate: success = 0 } = last;
  const hasCollapsed = failed < episodes && updates > 0 && success === 0 && bestSuccess > 0;
  const collapse = hasCollapsed
    ? ` No episode succeeds any more, and ${bestSuccess.toFixed(2)} of a step succeeded before, so the updates have ruined the policy. Begin again with a lower trainer_common.optim.lr.`
    : '';
  return new WorkflowError(
    'nothing_trained',
    `${numSteps} steps in a row, up to step ${step}, trained nothing: ${why}.${collapse} ${repair}`,
  );
}

/** Returns what kept the last step from training. Several reasons may apply to different tasks. */
function describeLeftOut({
  groups_skipped: equal = 0,
  masked_episodes: cut = 0,
  dropped_episodes: long = 0,
  stale_episodes: stale = 0,
}: MetricsRecord): string {
  const reasons = [
    ...(equal > 0 ? ['the episodes of each task all got the same reward'] : []),
    ...(cut > 0
      ? [
          `a token limit cut an answer of ${cut} episodes, and trainer_common.mask_truncated_completions leaves them out`,
        ]
      : []),
    ...(long > 0 ? [`${long} episodes were longer than a sample (data.overlong_sample_policy)`] : []),
    ...(stale > 0 ? [`${stale} episodes were too old`] : []),
  ];
  return reasons.length === 0 ? 'no token had an advantage' : reasons.join('; ');
}
