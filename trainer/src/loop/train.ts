import { setImmediate } from 'node:timers/promises';
import type { Algorithm, Backbone, LossOptions, OptimizerOverrides, RecoveryBudget } from '@agentjet/core';
import type { LengthLimit } from '../packing/length-policy.js';
import type { PackOptions } from '../packing/pack-trees.js';
import {
  addDraws,
  drawsOf,
  type Checkpoint,
  type MetricsRecord,
  type RunFolder,
  type TrainingState,
} from '@agentjet/run-folder';
import { batched } from './batched.js';
import { checkLoss } from './choose-loss.js';
import type { LeftOutEpisode } from './left-out.js';
import { pullAhead } from './pull-ahead.js';
import { prepareBatch, type BatchSettings, type PreparedBatch } from './prepare-batch.js';
import type { TrainingGroup } from './training-group.js';
import type { TokenReport } from './token-reports.js';

export type TrainOptions = {
  readonly backbone: Backbone;
  /**
   * Complete groups. The loop pulls `groupsPerStep` of them, makes its step, and only then pulls the next: a source
   * that samples on demand is on-policy, unless `maxStaleness` lets it work ahead. A group that lost its episodes comes
   * with none, and with its report.
   */
  readonly source: AsyncIterable<TrainingGroup>;
  /** Where steps are recorded and checkpoints kept: a run folder. */
  readonly run: Pick<RunFolder, 'recordStep' | 'save' | 'writeReport'>;
  readonly algorithm: Algorithm;
  /** Advantages to mean 0 and deviation 1 over all trained tokens of a batch (REINFORCE++); default false. */
  readonly whitenAdvantages?: boolean;
  readonly loss: LossOptions;
  readonly packing: PackOptions;
  /** Default: no limit. */
  readonly lengthLimit?: LengthLimit;
  readonly groupsPerStep: number;
  /** Optimizer steps that a batch is divided into, by groups; default 1. */
  readonly numMiniBatches?: number;
  /** Passes over a batch; default 1. */
  readonly numEpochs?: number;
  /**
   * Most versions of the weights between the sampling of a token and its training. Default 0: on-policy. With k the
   * source is pulled while a step is made, as many batches ahead as k versions allow (k / optimizer steps of a batch);
   * episodes that are older all the same are left out and counted. What was drawn ahead of a stop is drawn again by
   * the resumed run, from the weights of then.
   */
  readonly maxStaleness?: number;
  /** Called when the loop ends while the source may be working ahead: what it is making is not wanted any more. */
  readonly onSourceLeft?: () => void;
  /** Last step of the run; without it the source decides. */
  readonly maxSteps?: number;
  /** Steps between checkpoints; 0 (default): only at the end. */
  readonly saveEvery?: number;
  /** Asks for checkpoints in addition to `saveEvery`, if making the steps since the last one again would take too long. */
  readonly recoveryBudget?: Pick<RecoveryBudget, 'noteStep' | 'noteSaved' | 'isDue'>;
  /** Newest checkpoints to keep; default 3, 0 keeps all. */
  readonly maxCheckpoints?: number;
  /** Steps between evaluations; 0 (default): none. */
  readonly evaluateEvery?: number;
  readonly evaluate?: (step: number) => Promise<void>;
  /** Where to go on from: the state of the checkpoint that the backbone has loaded. The source leaves out the draws of that state. */
  readonly start?: TrainingState;
  /** Aborting ends the run after the step in progress, with a checkpoint. */
  readonly signal?: AbortSignal;
  readonly observer?: TrainObserver;
  /** Awaited when a batch is whole and credited, before its first optimizer step; may change options of that step. */
  readonly beforeStep?: (step: StepStart) => Promise<StepChanges | undefined>;
  /**
   * Called when the loop is done with a step, its evaluation and checkpoint included. A source that works ahead by k batches
   * (`batchesAhead`) may now begin the batch of step `step + 1 + k`: none of its tokens can become too old.
   */
  readonly onStepDone?: (step: number) => void;
  /** Awaited when a step is recorded, before the next batch is asked for. */
  readonly afterStep?: (step: StepEnd) => Promise<void>;
  /** Told of each optimizer step that was made. */
  readonly afterOptimizerStep?: (start: StepStart, index: number) => void;
  /** Gives `afterStep` what each optimizer step found at each token. */
  readonly reportTokens?: boolean;
  /** Learning rate of each optimizer step of a step. Default: the backbone's own schedule; a step without optimizer steps then reports 0. */
  readonly learningRate?: (at: OptimizerStep & { readonly step: number }) => number;
};

/** A step that is about to be made. */
export type StepStart = {
  readonly step: number;
  /** Of the weights before the step. */
  readonly policyVersion: number;
  readonly groups: readonly TrainingGroup[];
  /** Episodes of the groups that are not trained. */
  readonly leftOut: readonly LeftOutEpisode[];
  /** Ids of the groups that each optimizer step trains, over all passes. */
  readonly optimizerSteps: readonly (readonly string[])[];
};

/** One of the optimizer steps of a batch. */
export type OptimizerStep = {
  /** Counted from 0 within the batch, over all passes. */
  readonly index: number;
  /** The version of the weights that it is made on. */
  readonly policyVersion: number;
};

/** What a step may change for itself. */
export type StepChanges = {
  /** Changes of all its optimizer steps, or of each. */
  readonly optimizer?: OptimizerOverrides | ((at: OptimizerStep) => OptimizerOverrides);
  /** False: tokens of the present version count as sampled by other weights. */
  readonly isOnPolicy?: boolean;
};

/** A step that was made and recorded. */
export type StepEnd = {
  readonly state: TrainingState;
  readonly metrics: MetricsRecord;
  readonly groups: readonly TrainingGroup[];
  readonly leftOut: readonly LeftOutEpisode[];
  /** One list per optimizer step, one report per trained sample; only with `reportTokens`. */
  readonly tokens: readonly (readonly TokenReport[])[];
};

/** Told what happens, as it happens. */
export type TrainObserver = {
  readonly onGroup?: (group: TrainingGroup, step: number) => void;
  /** The batch is whole; the optimizer step begins. */
  readonly onUpdate?: (step: number) => void;
  readonly onStep?: (metrics: MetricsRecord) => void;
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
};

/** Where the run is when `train` returns. */
export type TrainOutcome = {
  /** After the last step that was made. */
  readonly state: TrainingState;
  /** The newest that was saved; undefined if none was. */
  readonly checkpoint: Checkpoint | undefined;
} & (
  | {
      /** `stopped`: the signal ended it before the last step. */
      readonly status: 'completed' | 'stopped';
    }
  | {
      /** A step, the source, a hook, the evaluation or a checkpoint failed. */
      readonly status: 'failed';
      readonly error: unknown;
    }
);

/** Where the loop is; `checkpoint` is the newest it has saved. */
type Progress = { state: TrainingState; checkpoint: Checkpoint | undefined };

/**
 * The training loop: whole batches of groups in, better weights out. It knows no agents, tasks or tokenizers.
 *
 * On resume, load the checkpoint into the backbone, `run.rewind(checkpoint.state)`, pass the state as `start`, and
 * give a source that leaves out `drawsOf(checkpoint.state)`: then the run goes on as if it had never been interrupted. A batch
 * that the signal cuts short is not trained, so the resumed run draws it again, whole.
 *
 * What the source, a hook, the evaluation or the backbone throws ends the run with status `failed` and the state after
 * the last step that was made; that step is saved first, if it can be. Rejects with BackboneError `unsupported_loss`
 * if the backbone cannot train this loss.
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  checkLoss(options);
  const { backbone, signal, maxSteps = Infinity } = options;
  const progress: Progress = {
    state: options.start ?? { step: 0, policyVersion: backbone.policyVersion, groupsDrawn: 0 },
    checkpoint: undefined,
  };
  const begin = progress.state.step;
  const saveUnsaved = async () => {
    const { state, checkpoint } = progress;
    if (state.step !== begin && checkpoint?.state.step !== state.step) progress.checkpoint = await save(options, state);
  };
  try {
    await makeSteps(options, progress);
    await saveUnsaved();
  } catch (error) {
    const isBetweenSteps = backbone.policyVersion === progress.state.policyVersion;
    if (isBetweenSteps) await saveUnsaved().catch(() => undefined); // the first error is the one to tell
    return { status: 'failed', error, ...progress };
  }
  return { status: signal?.aborted && progress.state.step < maxSteps ? 'stopped' : 'completed', ...progress };
}

async function makeSteps(options: TrainOptions, progress: Progress): Promise<void> {
  const { backbone, run, signal, maxSteps = Infinity, groupsPerStep, observer } = options;
  const isOver = () => signal?.aborted === true || progress.state.step >= maxSteps;
  if (isOver()) return;

  let drawnAt = performance.now();
  for await (const groups of pullAhead(
    batched(watched(options, progress.state.step), groupsPerStep),
    batchesAhead(options),
    options.onSourceLeft,
  )) {
    if (signal?.aborted && groups.length < groupsPerStep) return;
    const step = progress.state.step + 1;
    const sampling = secondsSince(drawnAt);
    observer?.onUpdate?.(step);
    if (batchesAhead(options) > 0) await setImmediate(); // the next batch begins before the step takes the engine
    const batch = prepareBatch(groups, toSettings(options), options);
    const { leftOut, optimizerSteps } = batch;
    const { learningRate } = options;
    const plannedRate = learningRate?.({ step, index: 0, policyVersion: backbone.policyVersion });
    const start = { step, policyVersion: backbone.policyVersion, groups, leftOut, optimizerSteps };
    const tokens = await optimize(batch, start, options);
    const state = { step, policyVersion: backbone.policyVersion, ...takeDraws(progress.state, groups) };
    const metrics = await batch.record(run, {
      step,
      secondsSampling: sampling,
      isAhead: batchesAhead(options) > 0,
      ...(plannedRate !== undefined && { plannedRate }),
    });
    progress.state = state;
    observer?.onStep?.(metrics);
    await options.afterStep?.({ state, metrics, groups, leftOut, tokens });
    if (isDue(step, options.evaluateEvery) && !signal?.aborted) await options.evaluate?.(step);
    options.recoveryBudget?.noteStep(batch.seconds.packing + batch.seconds.training);
    const isSpent = options.recoveryBudget?.isDue === true;
    if (isDue(step, options.saveEvery) || isSpent) progress.checkpoint = await save(options, state);
    if (isOver()) return;
    options.onStepDone?.(step);
    drawnAt = performance.now();
  }
}

/** Makes the optimizer steps of a batch. Throws the error of one that is refused. Returns what each found at its tokens. */
async function optimize(
  batch: PreparedBatch,
  start: StepStart,
  { backbone, learningRate, reportTokens = false, beforeStep, afterOptimizerStep }: TrainOptions,
): Promise<StepEnd['tokens']> {
  const { step } = start;
  const { optimizer: changed, isOnPolicy = true } = (await beforeStep?.(start)) ?? {};
  const tokens: (readonly TokenReport[])[] = [];
  for (let index = 0; index < batch.optimizerSteps.length; index++) {
    const at = { index, policyVersion: backbone.policyVersion };
    const planned = learningRate && { learningRate: learningRate({ ...at, step }) };
    const overrides = typeof changed === 'function' ? changed(at) : changed;
    const optimizer = (planned ?? overrides) && { ...planned, ...overrides };
    const outcome = await batch.optimize(index, { isOnPolicy, reportTokens, ...(optimizer && { optimizer }) });
    if (!outcome.isApplied) throw outcome.error;
    afterOptimizerStep?.(start, index);
    if (outcome.tokens !== undefined) tokens.push(outcome.tokens);
  }
  return tokens;
}

function toSettings(options: TrainOptions): BatchSettings {
  const { whitenAdvantages = false, loss, packing, numMiniBatches = 1, numEpochs = 1, maxStaleness = 0 } = options;
  const { lengthLimit = { maxSampleTokens: Infinity, policy: 'error' } } = options;
  return { whitenAdvantages, loss, packing, lengthLimit, numMiniBatches, numEpochs, maxStaleness };
}

/** A group that does not say which draw it is counts as the next one. */
function takeDraws(
  state: TrainingState,
  groups: readonly TrainingGroup[],
): Pick<TrainingState, 'groupsDrawn' | 'draws'> {
  const { groupsDrawn } = state;
  const own = groups.map(({ draw }, at) => draw ?? { epoch: 0, index: groupsDrawn + at });
  const taken = [...own, ...groups.flatMap(({ alsoDrawn = [] }) => alsoDrawn)];
  return { groupsDrawn: groupsDrawn + taken.length, draws: addDraws(drawsOf(state), taken) };
}

/** Batches that may be sampled while the one before them waits for its training. */
export function batchesAhead({
  maxStaleness = 0,
  numMiniBatches = 1,
  numEpochs = 1,
}: Pick<TrainOptions, 'maxStaleness' | 'numMiniBatches' | 'numEpochs'>): number {
  return Math.floor(maxStaleness / (numMiniBatches * numEpochs));
}

async function* watched(
  { source, observer, groupsPerStep }: TrainOptions,
  stepsDone: number,
): AsyncGenerator<TrainingGroup> {
  let drawn = 0;
  for await (const group of source) {
    observer?.onGroup?.(group, stepsDone + 1 + Math.floor(drawn++ / groupsPerStep));
    yield group;
  }
}

async function save(
  { run, backbone, maxCheckpoints, observer, recoveryBudget }: TrainOptions,
  state: TrainingState,
): Promise<Checkpoint> {
  const startedAt = performance.now();
  const checkpoint = await run.save(backbone, state, maxCheckpoints === undefined ? {} : { maxCheckpoints });
  recoveryBudget?.noteSaved(secondsSince(startedAt));
  await run.writeReport();
  observer?.onCheckpoint?.(checkpoint);
  return checkpoint;
}

function isDue(step: number, every = 0): boolean {
  return every > 0 && step % every === 0;
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
