import type { MetricsRecord } from '@agentjet/run-folder';
import type { TrainObserver } from '@agentjet/run';
import type { JobListener } from '@agentjet/records';
import { EmptySteps } from './empty-steps.js';

type StepLimits = {
  readonly totalSteps: number;
  /** The run ends after this number of consecutive steps that trained nothing. Null means no limit. */
  readonly maxEmptySteps: number | null;
};

/** Passes the events of the training loop to the listener, and adds up the time of each part. */
export class StepObserver {
  secondsSampling = 0;
  secondsTraining = 0;
  readonly #emit: JobListener;
  readonly #totalSteps: number;
  readonly #empty: EmptySteps;

  constructor(emit: JobListener, { totalSteps, maxEmptySteps }: StepLimits) {
    this.#emit = emit;
    this.#totalSteps = totalSteps;
    this.#empty = new EmptySteps(maxEmptySteps, repair);
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
    this.#empty.note(metrics);
    this.#empty.check();
  }
}

const repair =
  'A checkpoint is saved. Repair the cause and continue with --resume, or set trainer_common.max_empty_steps to null to continue regardless.';
