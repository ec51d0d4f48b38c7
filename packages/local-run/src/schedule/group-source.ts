import type { SourceStart } from '@agentjet/run';
import type { TrainingGroup } from '@agentjet/trainer';

/** The source of a run's groups: a schedule of tasks that are sampled on demand, or a pool that other programs fill. */
export type GroupSource = {
  readonly groupsPerStep: number;
  /** Last optimizer step of the run. */
  readonly totalSteps: number;
  /**
   * Yields complete groups from the first step of the run. A group is made only when it is requested, so it is sampled
   * from the weights of its step.
   */
  readonly pull: (start: SourceStart) => AsyncIterable<TrainingGroup>;
};
