import type { RecoveryBudget } from './recovery-budget.js';
import type { Ledger, LedgerGroup, ManifestRecord, Outcome, PolicyLine } from '@agentjet/ledger';

/** The parts of the loop: the weights of one policy, the ledger that decides about episodes, and a driver. */
export type Run = {
  readonly ledger: Pick<Ledger, 'append' | 'assign' | 'conclude' | 'state'>;
  /** The policy whose weights the loop trains. */
  readonly policy: string;
  /** The state of the policy's weights in the ledger. */
  readonly line: PolicyLine;
  readonly journal: Journal;
  readonly trainer: LoopTrainer;
  readonly weights: WeightsState;
  /** Requests a checkpoint when it would take too long to repeat the steps since the last one. */
  readonly recovery: RecoveryBudget;
  /**
   * Holds model calls while the weights change. An ordinary run needs no gate, because it does not sample during a
   * step, or because its engine samples and trains in turns.
   */
  readonly gate?: Gate | undefined;
  readonly driver: Driver;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
};

/** Writes the records of the ledger to disk. In a run without a store it writes nothing. */
export type Journal = {
  /** Resolves when all records survive the end of the process. */
  readonly committed: () => Promise<void>;
  /** Resolves when all records survive the end of the machine. */
  readonly synced: () => Promise<void>;
};

export type Gate = {
  readonly hold: (reason: 'weights') => Promise<void>;
  readonly release: (reason: 'weights') => void;
};

/** The state of the loop. Other code may read it at any time. */
export type WeightsState = {
  /** The step whose weights answer calls; -1 before the weights are open. */
  version: number;
  phase: 'recovering' | 'waiting' | 'updating' | 'saving' | 'failed';
  /** The newest step whose evaluation and checkpoint are done, if they were due. */
  doneStep: number;
};

/** Keeps and changes the weights. Steps are numbered from 1; step 0 is the model before training. */
export type LoopTrainer = {
  /** Whether a repeated step gives exactly the same weights. */
  readonly repeatsExactly: boolean;
  /** Steps whose checkpoints are whole. */
  readonly checkpoints: () => Promise<readonly number[]>;
  /**
   * Makes one optimizer step. If this optimizer step was made before, `known` is its outcome. If it was refused then,
   * it must not be applied now.
   */
  readonly optimize: (manifest: ManifestRecord, index: number, known: Outcome | undefined) => Promise<Outcome>;
  /** Writes the metrics and the episodes of a step whose optimizer steps are all made. */
  readonly record?: (manifest: ManifestRecord, made: MadeStep) => Promise<void>;
  /** Lets the weights after this step answer calls from now on. */
  readonly publish: (step: number) => Promise<void>;
  /** Writes a checkpoint of the weights after this step. */
  readonly save: (step: number) => Promise<void>;
};

export type MadeStep = {
  /** The time between the end of the previous step and the decision for this one. It is 0 for a repeated step. */
  readonly secondsSampling: number;
  /** Whether the step was made before this process began. */
  readonly isRedo: boolean;
};

/** The differences between an ordinary run and a server: the source of batches, and other work between steps. */
export type Driver = {
  /** Loads the newest complete checkpoint. Returns its step, or 0 if there is none. */
  readonly load: () => Promise<number>;
  /** Throws if the run cannot continue, such as after its engine has failed. */
  readonly check: () => void;
  /**
   * Chooses the groups of the next step. Resolves with undefined if none are ready, or if none will come. The loop then
   * checks everything again.
   */
  readonly decide: () => Promise<Batch | undefined>;
  /** Plans the training of a batch. The plan goes into the manifest, and `optimize` follows it. */
  readonly plan: (groups: readonly LedgerGroup[], idle: readonly LedgerGroup[]) => StepPlan;
  /**
   * Evaluates the weights after `step` if that is due. The loop also calls it between steps, and after repeated steps.
   */
  readonly evaluate: (step: number) => Promise<void>;
  /** The number of steps between checkpoints; 0 if none are due. */
  readonly saveEvery: () => number;
  /**
   * Whether `step` always needs a checkpoint. With `recorded` a record of the checkpoint is enough. With `on_disk` its
   * files must be complete.
   */
  readonly needsCheckpoint: (step: number) => 'recorded' | 'on_disk' | undefined;
  /** Removes the records that no kept checkpoint needs. */
  readonly retire: () => Promise<void>;
  /** Whether no step is made after `step`. */
  readonly isOver: (step: number) => boolean;
  /** Called when the loop is done with a step. Sampling that waits for this step may then begin. */
  readonly onDone?: (step: number) => void;
  /** Called after the loop has checked whether a checkpoint is due, even if it saved none. */
  readonly onSaved?: (step: number) => Promise<void>;
  /** Called when a step of these groups is made and its weights answer calls. */
  readonly onStep?: (groups: readonly LedgerGroup[]) => void;
  /** Called when the phase or the version of the weights has changed. */
  readonly onChange?: () => void;
};

/** The groups of a step. */
export type Batch = {
  readonly groups: readonly LedgerGroup[];
  /** Groups that belong to the step but are not trained. */
  readonly idle?: readonly LedgerGroup[];
  readonly shares?: ManifestRecord['shares'];
};

export type StepPlan = {
  /** Ids of the groups in each optimizer step. */
  readonly optimizerSteps: readonly (readonly string[])[];
  /** The other inputs of the step. */
  readonly content?: unknown;
};
