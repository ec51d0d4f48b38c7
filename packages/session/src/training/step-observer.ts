import type { MetricsRecord } from '@agentjet/run-folder';
import type { TrainObserver } from '@agentjet/trainer';
import type { JobListener } from '../events.js';

/** Tells the listener what the training loop does, and adds up where the time went. */
export class StepObserver {
  secondsSampling = 0;
  secondsTraining = 0;
  readonly #emit: JobListener;
  readonly #totalSteps: number;

  constructor(emit: JobListener, totalSteps: number) {
    this.#emit = emit;
    this.#totalSteps = totalSteps;
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
  }
}
