import type { Draws } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import type { StepPace } from './schedule/work-ahead.js';

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

export type SourceStart = {
  /** Optimizer steps made before. */
  readonly step: number;
  /** The draws that those steps have taken. */
  readonly drawn: Draws;
  /** Aborts when the run wants no further group; groups that are being made then are lost. */
  readonly signal: AbortSignal;
  /** Set if the source may work ahead of the steps. Default: a batch is made when it is asked for. */
  readonly pace?: StepPace;
};
