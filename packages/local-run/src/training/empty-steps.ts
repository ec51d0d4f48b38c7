import { WorkflowError, type CommonConfig } from '@agentjet/core';
import { collapseInSteps } from '@agentjet/diagnose';
import type { MetricsRecord } from '@agentjet/run-folder';

export type EmptyStepsOptions = {
  readonly trainerCommon: Pick<CommonConfig['trainerCommon'], 'maxEmptySteps' | 'optim' | 'useKlLoss'>;
  /** The advice for the user. */
  readonly repair: string;
};

/** Ends a run after `max_empty_steps` steps in a row that trained nothing. Null means no limit. */
export class EmptySteps {
  readonly #options: EmptyStepsOptions;
  #inRow: readonly MetricsRecord[] = [];
  #bestSuccess = 0;

  constructor(options: EmptyStepsOptions) {
    this.#options = options;
  }

  /** Starts counting from 0, because the user has started the training again. */
  reset(): void {
    this.#inRow = [];
  }

  note(metrics: MetricsRecord): void {
    if (this.#options.trainerCommon.maxEmptySteps === null) return;
    this.#inRow = isEmpty(metrics) ? [...this.#inRow, metrics] : [];
    this.#bestSuccess = Math.max(this.#bestSuccess, metrics.success_rate ?? 0);
  }

  /** Throws WorkflowError `nothing_trained` if the limit is reached. */
  check(): void {
    const { trainerCommon, repair } = this.#options;
    const last = this.#inRow.at(-1);
    if (last === undefined || this.#inRow.length < (trainerCommon.maxEmptySteps ?? Infinity)) return;
    const causes = [`${describeCause(last)}.`, this.#describeCollapse(last), repair].filter(
      (each) => each !== undefined,
    );
    throw new WorkflowError(
      'nothing_trained',
      `${this.#inRow.length} steps in a row, up to step ${last.step}, trained nothing: ${causes.join(' ')}`,
    );
  }

  /** Undefined if no update can have ruined the model. */
  #describeCollapse({ policy_version: updates = 0, failed_episodes: failed = 0, episodes = 0 }: MetricsRecord) {
    if (updates === 0 || failed === episodes) return undefined;
    const late = { steps: this.#inRow, bestSuccess: this.#bestSuccess, sign: 'nothing is left to train' };
    return collapseInSteps(this.#options, late);
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

/** Returns what kept the last step from training. Several reasons may apply to different tasks. */
function describeCause({
  failed_episodes: failed = 0,
  episodes = 0,
  groups_skipped: equal = 0,
  masked_episodes: cut = 0,
  dropped_episodes: long = 0,
  stale_episodes: stale = 0,
  teacher_kl: distance,
}: MetricsRecord): string {
  if (failed === episodes) return `all ${episodes} episodes of the last one failed; \`--backbone=debug\` shows why`;
  const reasons = [
    ...(equal > 0 && distance === undefined ? ['the episodes of each task all got the same reward'] : []),
    ...(equal > 0 && distance !== undefined
      ? ['the student agrees with its teacher on each sampled token. Name another model as teacher.model']
      : []),
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
