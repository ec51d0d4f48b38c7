import type { MetricsRecord } from '@agentjet/run-folder';
import type { TrainObserver } from '@agentjet/run';
import type { JobListener } from '@agentjet/records';
import { EmptySteps, type EmptyStepsOptions } from './empty-steps.js';

type StepLimits = {
  readonly totalSteps: number;
  /** Has the limit of steps in a row that trained nothing. Default: no limit. */
  readonly trainerCommon?: EmptyStepsOptions['trainerCommon'];
};

/** Passes the events of the training loop to the listener, and adds up the time of each part. */
export class StepObserver {
  secondsSampling = 0;
  secondsTraining = 0;
  readonly #emit: JobListener;
  readonly #totalSteps: number;
  readonly #empty: EmptySteps | undefined;

  constructor(emit: JobListener, { totalSteps, trainerCommon }: StepLimits) {
    this.#emit = emit;
    this.#totalSteps = totalSteps;
    if (trainerCommon !== undefined) this.#empty = new EmptySteps({ trainerCommon, repair });
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
    this.#empty?.note(metrics);
    this.#empty?.check();
  }
}

const repair =
  'A checkpoint is saved. Repair the cause and continue with --resume, or set trainer_common.max_empty_steps to null to continue regardless.';
