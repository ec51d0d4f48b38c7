import { setImmediate } from 'node:timers/promises';
import { type Algorithm, type Backbone, type OptimizerOptions, type Teacher, roundTime } from '@agentjet/core';
import { RecoveryBudget } from './recovery-budget.js';
import { defaultPolicy, Ledger, type LedgerGroup, type ManifestRecord } from '@agentjet/ledger';
import {
  addDraws,
  drawsOf,
  type Checkpoint,
  type MetricsRecord,
  type RunFolder,
  type TrainingState,
} from '@agentjet/run-folder';
import { askTeacher, checkLoss, type BatchSettings, type TokenRecording, type TrainingGroup } from '@agentjet/trainer';
import { batched } from './batched.js';
import { runLoop, saveCheckpoint } from './loop.js';
import type { Driver, Journal, MadeStep, Run, LoopTrainer } from './parts.js';
import { StepMaker, type StepGroups } from './step-maker.js';
import { createStepWeights } from './step-weights.js';
import { createPace, type StepPace } from './work-ahead.js';

export type TrainOptions = Pick<BatchSettings, 'loss' | 'packing'> &
  Partial<BatchSettings> & {
    readonly backbone: Backbone;
    readonly algorithm: Algorithm;
    /** Scores the samples of an algorithm that needs a teacher. Default: there is none. */
    readonly teacher?: Teacher | undefined;
    /**
     * Yields complete groups, and begins at the state of the run. The loop takes `groupsPerStep` groups, makes its
     * step, and only then takes more, so a source that samples on demand is on-policy. With `maxStaleness`, the source
     * may begin batches early, within the limits of `pace`. A dropped group has no episodes but has a report.
     */
    readonly source: (start: SourceStart) => AsyncIterable<TrainingGroup>;
    /** The run folder, which records steps and keeps checkpoints. */
    readonly run: Pick<RunFolder, 'recordStep' | 'save'>;
    readonly groupsPerStep: number;
    /** Default: nothing is recorded of single tokens. */
    readonly recordTokens?: TokenRecording;
    /** The optimizer's settings, from which the rates of each step follow. Default: the backbone's own schedule. */
    readonly optimizer?: OptimizerOptions;
    /** The last step of the run. Default: the source decides. */
    readonly maxSteps?: number;
    /** The number of steps between checkpoints; 0 (default) saves only at the end. */
    readonly saveEvery?: number;
    /**
     * Requests checkpoints in addition to those of `saveEvery`, when it would take too long to repeat the steps since
     * the last one.
     */
    readonly recoveryBudget?: RecoveryBudget;
    /** How many of the newest checkpoints to keep. Default: 3. With 0, all are kept. */
    readonly maxCheckpoints?: number;
    /** The number of steps between evaluations; 0 (default) for none. */
    readonly evaluateEvery?: number;
    readonly evaluate?: (step: number) => Promise<void>;
    /** The state of the checkpoint that the backbone has loaded. Default: a new run. */
    readonly start?: TrainingState;
    /** If it is aborted, the run finishes the current step, saves a checkpoint and ends. */
    readonly signal?: AbortSignal;
    readonly observer?: TrainObserver;
    /** Records the steps, so that a resumed run can repeat them. Default: no records. */
    readonly recorder?: Recorder | undefined;
  };

export type SourceStart = {
  /** The state of the run. The source does not repeat the draws that this state lists. */
  readonly at: TrainingState;
  /** Aborted when the run needs no more groups. Unfinished groups are then lost. */
  readonly signal: AbortSignal;
  /** Controls how many batches the source may sample ahead of the steps, and when. */
  readonly pace: StepPace;
};

/** Called with the events of the run. */
export type TrainObserver = {
  /** Called when the batch is complete and the step begins. */
  readonly onUpdate?: (step: number) => void;
  readonly onStep?: (metrics: MetricsRecord) => void;
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
};

/** A ledger whose records allow steps to be repeated. */
export type Recorder = {
  readonly ledger: Ledger;
  readonly journal: Journal;
  /** Whether a repeated step gives exactly the same weights. */
  readonly repeatsExactly: boolean;
  /** Decides that a step trains these groups. */
  readonly decide: (step: number, groups: readonly TrainingGroup[]) => Decided;
  /** Reads the groups of a step that was decided before, in their state at that time. */
  readonly open: (manifest: ManifestRecord) => readonly TrainingGroup[];
  /** Gives the ledger's ids of the groups and episodes of a step. */
  readonly namesOf: (step: number) => Omit<StepGroups, 'groups'>;
  /** Removes records that no kept checkpoint needs. */
  readonly retire: () => Promise<void>;
};

export type Decided = {
  /** The groups that are trained. */
  readonly groups: readonly LedgerGroup[];
  readonly isOnPolicy: boolean;
  /** The data that the manifest keeps in addition to the batch's groups. */
  readonly content: Readonly<Record<string, unknown>>;
};

/** The state of the run when `train` returns. */
export type TrainOutcome = {
  /** The state after the last step. */
  readonly state: TrainingState;
  /** The newest saved checkpoint; undefined if there is none. */
  readonly checkpoint: Checkpoint | undefined;
} & (
  | {
      /** The status is `stopped` if the signal ended the run before its last step. */
      readonly status: 'completed' | 'stopped';
    }
  | {
      /** A step, the source, the evaluation, the recorder or a checkpoint failed. */
      readonly status: 'failed';
      readonly error: unknown;
    }
);

/**
 * Trains on the groups of a source. It is the local driver of the loop. It does not depend on agents, tasks or
 * tokenizers.
 *
 * To resume, load the checkpoint into the backbone, call `run.rewind(checkpoint.state)`, and pass the state as `start`.
 * If the signal aborts while a batch is sampled, the batch is not trained, and the resumed run samples all of it again.
 *
 * An error of the source, the evaluation or the backbone ends the run with status `failed` and the state after the last
 * step. That step is saved first if possible. Rejects with BackboneError `unsupported_loss` if the backbone cannot
 * train this loss.
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  checkLoss(options);
  const local = new LocalRun(options);
  const { maxSteps = Infinity, signal, backbone } = options;
  try {
    await runLoop(local.run);
  } catch (error) {
    const isBetweenSteps = backbone.policyVersion === local.state.policyVersion;
    if (isBetweenSteps) await local.saveUnsaved().catch(() => undefined); // the first error is the one to report
    return { status: 'failed', error, state: local.state, checkpoint: local.checkpoint };
  } finally {
    await local.leaveSource();
  }
  const isStopped = signal?.aborted === true && local.state.step < maxSteps;
  return { status: isStopped ? 'stopped' : 'completed', state: local.state, checkpoint: local.checkpoint };
}

class LocalRun {
  readonly run: Run;
  readonly #options: TrainOptions;
  readonly #recorder: Recorder;
  readonly #steps: StepMaker;
  readonly #begin: number;
  #state: TrainingState;
  #checkpoint: Checkpoint | undefined;
  #batches: AsyncIterator<readonly TrainingGroup[]> | undefined;
  #decided: { readonly groups: readonly TrainingGroup[]; readonly made: Decided } | undefined;
  #evaluated: number;
  #hasEnded = false;
  #secondsTeacher: number | undefined;
  readonly #left = new AbortController();
  readonly #pace: ReturnType<typeof createPace>;

  constructor(options: TrainOptions) {
    this.#options = options;
    const { backbone, start = { step: 0, policyVersion: backbone.policyVersion, groupsDrawn: 0 } } = options;
    this.#state = start;
    this.#begin = start.step;
    this.#evaluated = start.step;
    this.#pace = createPace(start.step, batchesAhead(options));
    this.#recorder = options.recorder ?? createMemoryRecorder(start.step);
    this.#steps = new StepMaker({
      weights: createStepWeights({ ...options, settings: toSettings(options) }),
      folder: options.run,
      open: async (manifest) => ({
        groups: await this.#score(this.#recorder.open(manifest)),
        ...this.#recorder.namesOf(manifest.step),
      }),
      onRefused: 'fail',
    });
    const { ledger, journal } = this.#recorder;
    this.run = {
      ledger,
      policy: defaultPolicy,
      line: ledger.line,
      journal,
      trainer: this.#trainer(),
      weights: { version: -1, phase: 'recovering', doneStep: -1 },
      recovery: options.recoveryBudget ?? new RecoveryBudget(Infinity),
      driver: this.#driver(),
      now: () => performance.now(),
    };
  }

  /** The state after the last step. */
  get state(): TrainingState {
    return this.#state;
  }

  /** The newest saved checkpoint. */
  get checkpoint(): Checkpoint | undefined {
    return this.#checkpoint;
  }

  async saveUnsaved(): Promise<void> {
    const { step } = this.#state;
    if (step !== this.#begin && this.#checkpoint?.state.step !== step) await saveCheckpoint(this.run, step);
  }

  /** Ends the source and waits for its end. */
  async leaveSource(): Promise<void> {
    this.#left.abort();
    await this.#batches?.return?.();
  }

  #trainer(): LoopTrainer {
    return {
      repeatsExactly: this.#recorder.repeatsExactly,
      checkpoints: async () => (this.#checkpoint === undefined ? [] : [this.#checkpoint.state.step]),
      optimize: (manifest, index, known) => {
        if (index === 0) this.#options.observer?.onUpdate?.(manifest.step);
        return this.#steps.optimize(manifest, index, known);
      },
      record: (manifest, made) => this.#record(manifest, made),
      publish: async () => undefined,
      save: () => this.#save(),
    };
  }

  #driver(): Driver {
    const { signal, maxSteps = Infinity, saveEvery = 0 } = this.#options;
    const isOver = (step: number): boolean => this.#hasEnded || signal?.aborted === true || step >= maxSteps;
    return {
      load: async () => this.#begin,
      check: () => undefined,
      decide: () => this.#decide(),
      plan: (groups) => this.#plan(groups),
      evaluate: (step) => this.#evaluate(step),
      saveEvery: () => saveEvery,
      needsCheckpoint: (step) => (step > this.#begin && isOver(step) ? 'on_disk' : undefined),
      retire: this.#recorder.retire,
      isOver,
      onDone: this.#pace.done,
    };
  }

  async #decide(): Promise<{ readonly groups: readonly LedgerGroup[] } | undefined> {
    const { source, groupsPerStep, signal } = this.#options;
    const start = { at: this.#state, signal: this.#left.signal, pace: this.#pace.pace };
    this.#batches ??= batched(source(start), groupsPerStep)[Symbol.asyncIterator]();
    const { done, value: groups } = await this.#batches.next();
    const isCut = done !== true && signal?.aborted === true && groups.length < groupsPerStep;
    this.#hasEnded = done === true || isCut;
    if (done === true || isCut) return undefined;
    // With batches ahead, this lets the next batch begin before the step occupies the engine.
    if (batchesAhead(this.#options) > 0) await setImmediate();
    const scored = await this.#score(groups);
    const made = this.#recorder.decide(this.#state.step + 1, groups);
    this.#decided = { groups: scored, made };
    return { groups: made.groups };
  }

  /** Lets the teacher score the samples. Without a teacher, the groups stay as they are. */
  async #score(groups: readonly TrainingGroup[]): Promise<readonly TrainingGroup[]> {
    const { teacher, loss, packing } = this.#options;
    if (teacher === undefined) return groups;
    const startedAt = performance.now();
    const { temperature = 1 } = loss;
    const scored = await askTeacher(groups, teacher, { temperature, maxPackTokens: packing.maxPackTokens });
    this.#secondsTeacher = (performance.now() - startedAt) / 1000;
    return scored;
  }

  #plan(ready: readonly LedgerGroup[]) {
    const { groups = [], made } = this.#decided ?? {};
    const names = this.#recorder.namesOf(this.#state.step + 1);
    const ids = ready.map(({ groupId }) => groupId);
    const plan = this.#steps.plan({ groups, ...names }, ids, { isOnPolicy: made?.isOnPolicy ?? true });
    return { ...plan, content: { ...made?.content, ...plan.content } };
  }

  async #record(manifest: ManifestRecord, { secondsSampling }: MadeStep): Promise<void> {
    const { backbone, observer } = this.#options;
    const isAhead = batchesAhead(this.#options) > 0;
    const seconds = this.#secondsTeacher;
    const { metrics, groups } = await this.#steps.record(manifest, {
      secondsSampling: Math.max(0, secondsSampling - (seconds ?? 0)),
      isAhead,
      ...(seconds !== undefined && { more: { seconds_teacher: roundTime(seconds) } }),
    });
    const { step } = manifest;
    this.#state = { step, policyVersion: backbone.policyVersion, ...takeDraws(this.#state, groups) };
    this.#decided = undefined;
    observer?.onStep?.(metrics);
  }

  /** Evaluates if an evaluation is due. It is called once for each step. */
  async #evaluate(step: number): Promise<void> {
    const { evaluate, evaluateEvery = 0, signal } = this.#options;
    if (this.#evaluated === step) return;
    this.#evaluated = step;
    if (evaluateEvery > 0 && step % evaluateEvery === 0 && signal?.aborted !== true) await evaluate?.(step);
  }

  async #save(): Promise<void> {
    const { run, backbone, maxCheckpoints, observer } = this.#options;
    this.#checkpoint = await run.save(backbone, this.#state, maxCheckpoints === undefined ? {} : { maxCheckpoints });
    observer?.onCheckpoint?.(this.#checkpoint);
  }
}

/** Creates the recorder of a run without records. It numbers the steps but stores nothing. */
function createMemoryRecorder(step: number): Recorder {
  const ledger = new Ledger({ now: () => performance.now() });
  if (step > 0) ledger.append({ kind: 'checkpoint', step });
  return {
    ledger,
    journal: { committed: async () => undefined, synced: async () => undefined },
    repeatsExactly: true,
    decide: () => {
      ledger.line.manifests.clear();
      ledger.line.outcomes.clear();
      return { groups: [], isOnPolicy: true, content: {} };
    },
    open: ({ step: again }) => {
      throw new RangeError(`Step ${again} is not recorded.`);
    },
    namesOf: () => ({ episodeIdOf: () => undefined }),
    retire: async () => undefined,
  };
}

function toSettings(options: TrainOptions): BatchSettings {
  const { whitenAdvantages = false, loss, packing, numMiniBatches = 1, numEpochs = 1, maxStaleness = 0 } = options;
  const { lengthLimit = { maxSampleTokens: Infinity, policy: 'error' } } = options;
  const { shaping, masksCutAnswers } = options;
  const always = { whitenAdvantages, loss, packing, lengthLimit, numMiniBatches, numEpochs, maxStaleness };
  return {
    ...always,
    ...(shaping && { shaping }),
    ...(masksCutAnswers === true && { masksCutAnswers }),
  };
}

/** Adds the draws of the groups to the state. A group that does not name its draw counts as the next draw. */
function takeDraws(
  state: TrainingState,
  groups: readonly TrainingGroup[],
): Pick<TrainingState, 'groupsDrawn' | 'draws'> {
  const { groupsDrawn } = state;
  const own = groups.map(({ draw }, at) => draw ?? { epoch: 0, index: groupsDrawn + at });
  const taken = [...own, ...groups.flatMap(({ alsoDrawn = [] }) => alsoDrawn)];
  return { groupsDrawn: groupsDrawn + taken.length, draws: addDraws(drawsOf(state), taken) };
}

/**
 * Returns how many batches may be sampled before their turn, so that no sample becomes older than `maxStaleness`
 * versions.
 */
function batchesAhead({
  maxStaleness = 0,
  numMiniBatches = 1,
  numEpochs = 1,
}: Pick<TrainOptions, 'maxStaleness' | 'numMiniBatches' | 'numEpochs'>): number {
  return Math.floor(maxStaleness / (numMiniBatches * numEpochs));
}
