import type { Algorithm, Backbone, LossOptions } from '@agentjet/core';
import type { LengthLimit } from '../packing/length-policy.js';
import type { PackOptions } from '../packing/pack-trees.js';
import type { Checkpoint, TrainingState } from '../run-folder/checkpoints.js';
import type { MetricsRecord } from '../run-folder/metrics-record.js';
import type { RunFolder } from '../run-folder/run-folder.js';
import { batched } from './batched.js';
import { creditGroups } from './credit-groups.js';
import { toEpisodeRecords } from './episode-records.js';
import { toStepMetrics } from './step-metrics.js';
import type { TrainingGroup } from './training-group.js';
import { updateWeights } from './update-weights.js';

export type TrainOptions = {
  readonly backbone: Backbone;
  /**
   * Complete groups. The loop pulls `groupsPerStep` of them, makes its step, and only then pulls the next: a source
   * that samples on demand is on-policy. A group that lost its episodes comes with none, and with its report.
   */
  readonly source: AsyncIterable<TrainingGroup>;
  readonly run: RunFolder;
  readonly algorithm: Algorithm;
  readonly loss: LossOptions;
  readonly packing: PackOptions;
  /** Default: no limit. */
  readonly lengthLimit?: LengthLimit;
  readonly groupsPerStep: number;
  /** Optimizer steps that a batch is divided into, by groups; default 1. */
  readonly numMiniBatches?: number;
  /** Passes over a batch; default 1. */
  readonly numEpochs?: number;
  /** Last step of the run; without it the source decides. */
  readonly maxSteps?: number;
  /** Steps between checkpoints; 0 (default): only at the end. */
  readonly saveEvery?: number;
  /** Newest checkpoints to keep; default 3, 0 keeps all. */
  readonly maxCheckpoints?: number;
  /** Steps between evaluations; 0 (default): none. */
  readonly evaluateEvery?: number;
  readonly evaluate?: (step: number) => Promise<void>;
  /** Where to go on from: the state of the checkpoint that the backbone has loaded. The source begins behind its `groupsDrawn`. */
  readonly start?: TrainingState;
  /** Aborting ends the run behind the step in progress, with a checkpoint. */
  readonly signal?: AbortSignal;
  readonly observer?: TrainObserver;
};

/** Told what happens, as it happens. */
export type TrainObserver = {
  readonly onGroup?: (group: TrainingGroup, step: number) => void;
  /** The batch is whole; the optimizer step begins. */
  readonly onUpdate?: (step: number) => void;
  readonly onStep?: (metrics: MetricsRecord) => void;
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
};

export type TrainOutcome = {
  /** `stopped`: the signal ended it before the last step. */
  readonly status: 'completed' | 'stopped';
  readonly state: TrainingState;
  /** Undefined where no step was made. */
  readonly checkpoint: Checkpoint | undefined;
};

const beginning: TrainingState = { step: 0, policyVersion: 0, groupsDrawn: 0 };

/**
 * The training loop: whole batches of groups in, better weights out. It knows no agents, tasks or tokenizers.
 *
 * On resume, load the checkpoint into the backbone, `run.rewind(checkpoint.state)`, pass the state as `start`, and
 * give a source that begins at group `groupsDrawn`: then the run goes on as if it had never been interrupted. A batch
 * that the signal cuts short is not trained, so the resumed run draws it again, whole.
 *
 * Rejects with what the source or the backbone throws (BackboneError, ...); then what was saved before stays.
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const { backbone, run, signal, maxSteps = Infinity, groupsPerStep } = options;
  let state = options.start ?? { ...beginning, policyVersion: backbone.policyVersion };
  let checkpoint: Checkpoint | undefined;
  const isOver = () => signal?.aborted === true || state.step >= maxSteps;
  if (isOver()) return outcome(options, state, checkpoint);

  let drawnAt = performance.now();
  for await (const groups of batched(watched(options, () => state.step + 1), groupsPerStep)) {
    if (signal?.aborted && groups.length < groupsPerStep) break;
    const step = state.step + 1;
    const sampling = secondsSince(drawnAt);
    options.observer?.onUpdate?.(step);
    const credited = creditGroups(options.algorithm, groups);
    const update = await updateWeights(credited, options);
    state = { step, policyVersion: backbone.policyVersion, groupsDrawn: state.groupsDrawn + groups.length };

    const metrics = toStepMetrics({ ...update, ...state, groups, seconds: { sampling, ...update.seconds } });
    await run.recordStep(metrics, toEpisodeRecords(credited));
    options.observer?.onStep?.(metrics);
    if (isDue(step, options.evaluateEvery) && !signal?.aborted) await options.evaluate?.(step);
    if (isDue(step, options.saveEvery)) checkpoint = await save(options, state);
    if (isOver()) break;
    drawnAt = performance.now();
  }

  const isSaved = checkpoint?.state.step === state.step || state.step === (options.start?.step ?? 0);
  if (!isSaved) checkpoint = await save(options, state);
  return outcome(options, state, checkpoint);
}

async function* watched({ source, observer }: TrainOptions, currentStep: () => number): AsyncGenerator<TrainingGroup> {
  for await (const group of source) {
    observer?.onGroup?.(group, currentStep());
    yield group;
  }
}

async function save({ run, backbone, maxCheckpoints, observer }: TrainOptions, state: TrainingState): Promise<Checkpoint> {
  const checkpoint = await run.save(backbone, state, maxCheckpoints === undefined ? {} : { maxCheckpoints });
  await run.writeReport();
  observer?.onCheckpoint?.(checkpoint);
  return checkpoint;
}

function outcome({ signal, maxSteps = Infinity }: TrainOptions, state: TrainingState, checkpoint: Checkpoint | undefined): TrainOutcome {
  return { status: signal?.aborted && state.step < maxSteps ? 'stopped' : 'completed', state, checkpoint };
}

function isDue(step: number, every = 0): boolean {
  return every > 0 && step % every === 0;
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
