import type { IdleGroup, LedgerEpisode, ManifestGroup } from '@agentjet/ledger';
import type { StepPlan, LoopTrainer } from '@agentjet/run/loop';
import type { LostAttempt } from './attempt-lengths.js';

/** What the swarm asks of the holder of the weights. */
export type TrainerPort = LoopTrainer & {
  readonly load: (step: number) => Promise<void>;
  readonly removeCheckpoint: (step: number) => Promise<void>;
  /** How a batch is to be trained. What it says goes into the manifest, and `optimize` follows it. */
  readonly plan: (groups: readonly ManifestGroup[], context: PlanContext) => StepPlan;
  /** Writes down an evaluation; made again, with its steps, after a recovery. */
  readonly recordEvaluation?: (step: number, evaluated: Evaluated) => Promise<void>;
  /** Throws if training must stop until an operator starts it again. */
  readonly check?: () => void;
  /** Lets the weights go. */
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
  /** What became of each place that was claimed, in the order of places. */
  readonly attempts: readonly Readonly<LedgerEpisode>[];
};

export type PlanContext = {
  /** False if a token was sampled by another incarnation of the weights. */
  readonly isOnPolicy: boolean;
  /** Attempts that were lost since the step before. */
  readonly lost: readonly LostAttempt[];
  /** By group: its attempts that ended without a place. They are not trained, and the step reports them. */
  readonly failed: Readonly<Record<string, readonly string[]>>;
  /** Keys of the configuration that were changed since the run began. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Groups that the step covers and does not train; the manifest names them. */
  readonly idle: readonly IdleGroup[];
};

/** Which task a draw of a share is. Undefined: there are no more. */
export type TaskPort = {
  readonly trainingTask: (draw: number, share: string) => DrawnTask | undefined;
  readonly evaluationTask: (index: number, share: string) => DrawnTask | undefined;
  /** Whether `trainingTask` will never give more of a share than it does: false while its table is not complete. */
  readonly isComplete?: (share: string) => boolean;
  /** Training tasks of the default share; 0 while its table is not complete. */
  readonly sizeOf?: () => number;
};

export type DrawnTask = {
  readonly taskId: string;
  /** Seeds of its episodes derive from it. */
  readonly seed: number;
  /** The pass over the tasks, from 0. Default: the first one. */
  readonly pass?: number;
};
