import type { ManifestRecord, Outcome } from '@agentjet/ledger';

/** What the swarm asks of the holder of the weights. Steps are numbered from 1; step 0 is the model as it began. */
export type TrainerPort = {
  /** Whether making a step again gives the same weights to the last bit. */
  readonly repeatsExactly: boolean;
  /** Steps whose checkpoints are whole. */
  readonly checkpoints: () => Promise<readonly number[]>;
  readonly load: (step: number) => Promise<void>;
  /** Makes one optimizer step. `known` is its outcome if it was made before: a refused step must not be applied. */
  readonly optimize: (manifest: ManifestRecord, index: number, known: Outcome | undefined) => Promise<Outcome>;
  /** From now on calls are answered by the weights after this step. */
  readonly publish: (step: number) => Promise<void>;
  /** Writes a checkpoint of the weights after this step. */
  readonly save: (step: number) => Promise<void>;
  readonly removeCheckpoint: (step: number) => Promise<void>;
  /** Which groups each optimizer step of a batch holds. */
  readonly planSteps: (groupIds: readonly string[]) => readonly (readonly string[])[];
};

/** Which task a draw is. Undefined: there are no more. */
export type TaskPort = {
  readonly trainingTask: (draw: number) => DrawnTask | undefined;
  readonly evaluationTask: (index: number) => DrawnTask | undefined;
};

export type DrawnTask = {
  readonly taskId: string;
  /** Seeds of its episodes derive from it. */
  readonly seed: number;
};
