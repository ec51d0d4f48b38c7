import type { IdleGroup, LedgerEpisode, ManifestGroup } from '@agentjet/ledger';
import type { StepPlan, LoopTrainer } from '@agentjet/run/loop';
import type { LostAttempt } from './attempt-lengths.js';

/** The interface to the holder of the weights. */
export type TrainerPort = LoopTrainer & {
  readonly load: (step: number) => Promise<void>;
  readonly removeCheckpoint: (step: number) => Promise<void>;
  /** Plans the training of a batch. The plan is stored in the manifest, and `optimize` follows it. */
  readonly plan: (groups: readonly ManifestGroup[], context: PlanContext) => StepPlan;
  /** Records an evaluation. After a recovery it is repeated with its steps. */
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
  /** The result of each claimed place, in the order of places. */
  readonly attempts: readonly Readonly<LedgerEpisode>[];
};

export type PlanContext = {
  /** False if a token was sampled by another incarnation of the weights. */
  readonly isOnPolicy: boolean;
  /** Attempts that were lost since the previous step. */
  readonly lost: readonly LostAttempt[];
  /** For each group: the attempts that ended without a place. They are not trained, and the step reports them. */
  readonly failed: Readonly<Record<string, readonly string[]>>;
  /** Keys of the configuration that were changed since the run began. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Groups that the step covers and does not train; the manifest names them. */
  readonly idle: readonly IdleGroup[];
};

/** The task of a draw of a share; undefined if there are no more. */
export type TaskPort = {
  readonly trainingTask: (draw: number, share: string) => DrawnTask | undefined;
  readonly evaluationTask: (index: number, share: string) => DrawnTask | undefined;
  /** Whether the tasks of a share are final; false while its table is not complete. */
  readonly isComplete?: (share: string) => boolean;
  /** The number of training tasks of the default share; 0 while its table is not complete. */
  readonly sizeOf?: () => number;
};

export type DrawnTask = {
  readonly taskId: string;
  /** The seed from which its episodes' seeds derive. */
  readonly seed: number;
  /** The pass over the tasks, from 0. Default: the first one. */
  readonly pass?: number;
};
