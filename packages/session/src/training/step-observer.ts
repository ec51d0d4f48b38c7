import { WorkflowError } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import type { TrainObserver } from '@agentjet/run';
import type { JobListener } from '../events.js';

type StepLimits = {
  readonly totalSteps: number;
  /** So many steps in a row that trained nothing end the run; null: never. */
  readonly maxEmptySteps: number | null;
};

/** Tells the listener what the training loop does, and adds up where the time went. */
export class StepObserver {
  secondsSampling = 0;
  secondsTraining = 0;
  readonly #emit: JobListener;
  readonly #totalSteps: number;

  readonly #maxEmptySteps: number | null;
  #emptySteps = 0;

  constructor(emit: JobListener, { totalSteps, maxEmptySteps }: StepLimits) {
    this.#emit = emit;
    this.#totalSteps = totalSteps;
    this.#maxEmptySteps = maxEmptySteps;
  }

  readonly observer: TrainObserver = {
    onUpdate: (step) => this.#emit({ type: 'phase_started', phase: 'train', step, episodes: 0 }),
    onStep: (metrics) => this.#finishStep(metrics),
    onCheckpoint: ({ dir, state }) => this.#emit({ type: 'checkpoint_saved', step: state.step, dir }),
  };

  #finishStep(metrics: MetricsRecord): void {
    const { step, seconds_sampling: sampling = 0, seconds_training: training = 0 } = metrics;
    this.secondsSampling += sampling;
    this.secondsTraining += training;
    this.#emit({ type: 'phase_finished', phase: 'train', step, seconds: training });
    this.#emit({ type: 'step_finished', step, totalSteps: this.#totalSteps, metrics });
    this.#emptySteps = isEmpty(metrics) ? this.#emptySteps + 1 : 0;
    if (this.#emptySteps === this.#maxEmptySteps) throw nothingTrained(this.#emptySteps, metrics);
  }
}

/** A policy that has learned may solve each task always or never. Then a step has nothing to train, and nothing is wrong. */
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
): WorkflowError {
  const why =
    failed === episodes
      ? `all ${episodes} episodes of the last one failed; \`--backbone=debug\` shows why`
      : 'the episodes of each task all got the same reward, or were too long';
  return new WorkflowError(
    'nothing_trained',
    `${numSteps} steps in a row, up to step ${step}, trained nothing: ${why}. A checkpoint is saved. ` +
      'Repair the cause and continue with --resume, or set trainer_common.max_empty_steps to null to continue regardless.',
  );
}
