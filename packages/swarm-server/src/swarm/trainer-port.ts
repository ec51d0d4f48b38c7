import type { IdleGroup, LedgerEpisode, ManifestGroup } from '@agentjet/ledger';
import type { StepPlan, LoopTrainer } from '@agentjet/run/loop';
import type { LostAttempt } from './attempt-lengths.js';

/** The interface to the object that has the weights. */
export type TrainerPort = LoopTrainer & {
  readonly load: (step: number) => Promise<void>;
  readonly removeCheckpoint: (step: number) => Promise<void>;
  /** Plans the training of a batch. The plan is stored in the manifest, and `optimize` follows it. */
  readonly plan: (groups: readonly ManifestGroup[], context: PlanContext) => StepPlan;
  /** Records an evaluation. After a recovery it may be called again for an evaluation that was recorded before. */
  readonly recordEvaluation?: (step: number, evaluated: Evaluated) => Promise<void>;
  /** Throws if training must stop until an operator starts it again. */
  readonly check?: () => void;
  /** Releases the weights. */
  readonly close?: () => Promise<void>;
};

export type Evaluated = {
  readonly groups: readonly EvaluatedGroup[];
  readonly seconds: number;
};

export type EvaluatedGroup = {
  readonly groupId: string;
  readonly taskId: string;
  readonly numPlaces: number;
  /** The final attempt of each claimed place, in the order of places. */
  readonly attempts: readonly Readonly<LedgerEpisode>[];
};

export type PlanContext = {
  /** Whether all tokens were sampled by the current incarnation of the weights. */
  readonly isOnPolicy: boolean;
  /** Attempts that were lost since the previous step. */
  readonly lost: readonly LostAttempt[];
  /**
   * For each group, the attempts that ended without a place in the group. They are not trained, but the step reports
   * them.
   */
  readonly failed: Readonly<Record<string, readonly string[]>>;
  /** Keys of the configuration that were changed since the run began. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Groups that belong to the step but are not trained. The manifest names them. */
  readonly idle: readonly IdleGroup[];
};

/**
 * Returns the tasks of draws. A task is undefined if there are no more tasks. `version` is the version of the table
 * from which a known group was drawn. Default: the newest version.
 */
export type TaskPort = {
  readonly trainingTask: (draw: number, share: string, version?: number) => DrawnTask | undefined;
  readonly evaluationTask: (index: number, share: string, version?: number) => DrawnTask | undefined;
  /** Whether the table of a share's tasks is complete. */
  readonly isComplete?: (share: string) => boolean;
  /** The number of training tasks of the default share. It is 0 until the table is complete. */
  readonly sizeOf?: () => number;
  /** Returns the number, from 0, of the pass over the tasks to which a draw belongs. */
  readonly passOf?: (draw: number, share: string) => number;
};

export type DrawnTask = {
  readonly taskId: string;
  /** The seed from which the seeds of its episodes are derived. */
  readonly seed: number;
  /** The number of the pass over the tasks, from 0. Default: 0. */
  readonly pass?: number;
  /** The version of the table. Absent: 0, the first version. */
  readonly table?: number;
};
