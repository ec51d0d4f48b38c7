import type { RecoveryBudget } from '@agentjet/core';
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
  /** Asks for a checkpoint if repeating the steps since the last checkpoint would take too long. */
  readonly recovery: RecoveryBudget;
  /**
   * Holds model calls while the weights change. A local run needs no gate: it samples nothing during a step, or its
   * engine samples and trains in turns.
   */
  readonly gate?: Gate | undefined;
  readonly driver: Driver;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
};

/** Writes the records of the ledger. The journal of a run without a store writes nothing. */
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

/** Holds and changes the weights. Steps are numbered from 1; step 0 is the model before training. */
export type LoopTrainer = {
  /** Whether making a step again gives the same weights to the last bit. */
  readonly repeatsExactly: boolean;
  /** Steps whose checkpoints are whole. */
  readonly checkpoints: () => Promise<readonly number[]>;
  /**
   * Makes one optimizer step. If the step was made before, `known` is its outcome. A step that was refused then must
   * not be applied now.
   */
  readonly optimize: (manifest: ManifestRecord, index: number, known: Outcome | undefined) => Promise<Outcome>;
  /** Writes the metrics and the episodes of a step whose optimizer steps are all made. */
  readonly record?: (manifest: ManifestRecord, made: MadeStep) => Promise<void>;
  /** From now on, calls are answered by the weights after this step. */
  readonly publish: (step: number) => Promise<void>;
  /** Writes a checkpoint of the weights after this step. */
  readonly save: (step: number) => Promise<void>;
};

export type MadeStep = {
  /** The time between the end of the previous step and the decision; 0 for a repeated step. */
  readonly secondsSampling: number;
  /** Whether the step was made before this process began. */
  readonly isRedo: boolean;
};

/** The differences between an ordinary run and a server: the source of batches, and other work between steps. */
export type Driver = {
  /** Loads the newest checkpoint that is whole. Returns its step; 0 without one. */
  readonly load: () => Promise<number>;
  /** Throws if the run cannot continue, such as when its engine is dead. */
  readonly check: () => void;
  /**
   * Chooses the groups of the next step. Undefined if there are none now or ever; the loop then checks everything
   * again.
   */
  readonly decide: () => Promise<Batch | undefined>;
  /** Plans the training of a batch. The plan goes into the manifest, and `optimize` follows it. */
  readonly plan: (groups: readonly LedgerGroup[], idle: readonly LedgerGroup[]) => StepPlan;
  /** Evaluates the weights after `step` if that is due. The loop also calls it between steps, and after steps that it makes again. */
  readonly evaluate: (step: number) => Promise<void>;
  /** The number of steps between checkpoints; 0 if none are due. */
  readonly saveEvery: () => number;
  /** Whether `step` always needs a checkpoint. `on_disk`: a record of one is not enough, its files must be whole. */
  readonly needsCheckpoint: (step: number) => 'recorded' | 'on_disk' | undefined;
  /** Removes the records that no kept checkpoint needs. */
  readonly retire: () => Promise<void>;
  /** Whether no step is made after `step`. */
  readonly isOver: (step: number) => boolean;
  /** Called when the loop is done with a step: sampling that waited for it may begin. */
  readonly onDone?: (step: number) => void;
  /** Called after each look at the checkpoints, whether one was saved or not. */
  readonly onSaved?: (step: number) => Promise<void>;
  /** Called when a step of these groups is made and its weights answer calls. */
  readonly onStep?: (groups: readonly LedgerGroup[]) => void;
  /** Called when the phase or the version of the weights has changed. */
  readonly onChange?: () => void;
};

/** The groups of a step. */
export type Batch = {
  readonly groups: readonly LedgerGroup[];
  /** Groups that the step covers and does not train. */
  readonly idle?: readonly LedgerGroup[];
  readonly shares?: ManifestRecord['shares'];
};

export type StepPlan = {
  /** Ids of the groups that each optimizer step holds. */
  readonly optimizerSteps: readonly (readonly string[])[];
  /** The other inputs of the step. */
  readonly content?: unknown;
};
