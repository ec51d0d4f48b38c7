import type { SourceStart } from '@agentjet/run';
import type { TrainingGroup } from '@agentjet/trainer';

/** Where the groups of a run come from: a schedule of tasks that are sampled on demand, or a pool that others fill. */
export type GroupSource = {
  readonly groupsPerStep: number;
  /** Last optimizer step of the run. */
  readonly totalSteps: number;
  /**
   * Complete groups, from where the run starts. A group is made when it is asked for, not before: then it is sampled from
   * the weights of its step.
   */
  readonly pull: (start: SourceStart) => AsyncIterable<TrainingGroup>;
};
