import { rm } from 'node:fs/promises';
import {
  BackboneError,
  toErrorMessage,
  type Algorithm,
  type Backbone,
  type CommonConfig,
  type OptimizerOptions,
  type Teacher,
} from '@agentjet/core';
import { createRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';
import type { EarlierLines } from '@agentjet/diagnose';
import type { JobListener } from '@agentjet/records';
import { type JobInputs, hashCode } from '@agentjet/inputs';
import {
  watchEngine,
  type WatchedEngine,
  openBackbone,
  openTeacher,
  type PreparedModel,
  keepTemplate,
} from '@agentjet/models';
import { noticeAdapterBase } from './training/adapter-base.js';
import { countEpisodes, type EpisodeTally } from './training/episode-tally.js';
import { watchSteps } from './training/watch-steps.js';
import { openRecordedRun, type RecordedRunOptions } from './recorded/open-recorded-run.js';
import type { RecordedRun } from './recorded/recorded-run.js';
import { openResumedRun, recordChanges, type ResumeOptions } from './training/resume-run.js';
import { checkLoss } from '@agentjet/trainer';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { toOptimizerOptions, toTrainSettings } from './training/train-settings.js';

/**
 * One training run: its configuration, its folder, the backbone that learns, and the checkpoint that it resumes from.
 */
export type TrainingRun = {
  readonly config: CommonConfig;
  readonly folder: RunFolder;
  readonly backbone: Backbone;
  readonly algorithm: Algorithm;
  /** Undefined if the algorithm needs none. */
  readonly teacher?: Teacher | undefined;
  /** The engine that episodes sample from: the backbone's engine, with a check that it still answers. */
  readonly watched: WatchedEngine;
  /** Undefined for a new run. */
  readonly checkpoint: Checkpoint | undefined;
  /** The records that a resumed run uses in addition to its checkpoint. Undefined if nothing is recorded. */
  readonly recorded?: RecordedRun | undefined;
  /** The schedule that gives the learning rate of each step. */
  readonly optimizer: OptimizerOptions;
  readonly emit: JobListener;
  readonly tally: EpisodeTally;
  /** Throws WorkflowError `collapsed` if the evaluations show a collapse and `stop_on_collapse` is true. */
  readonly checkCollapse: () => void;
  /** If it is aborted, the run ends after the current step. */
  readonly signal: AbortSignal | undefined;
  /** Parameters, memory and time of the model in a few words. Undefined if they are unknown. */
  readonly modelSummary?: string | undefined;
  /** `performance.now()` when the job began. */
  readonly startedAt: number;
};

export type TrainingRunOptions = Pick<TrainingRun, 'signal' | 'startedAt' | 'emit'> & {
  /** The result of `prepareModel`. */
  readonly model: PreparedModel;
  readonly chatTokenizer: ChatTokenizer;
  readonly totalSteps: number;
  /**
   * Whether the source records its episodes in the run's ledger (`recorded`), so that a resumed run does not repeat
   * them. Default: false.
   */
  readonly isRecorded?: boolean;
  readonly inputs: Pick<JobInputs, 'algorithm' | 'backbone' | 'composition'>;
  /**
   * If true, the run resumes from the last checkpoint of the experiment's newest run. A string names the run folder to
   * resume from.
   */
  readonly resume: boolean | string;
  /**
   * The checkpoint to resume from, such as `step-20`. Used only with `resume`. Default: the newest complete checkpoint.
   */
  readonly from: string | undefined;
};

/** Opens a run, lets `use` train it, and closes it. The run's log records how it ended. */
export async function withTrainingRun<T>(
  config: CommonConfig,
  options: TrainingRunOptions,
  use: (run: TrainingRun) => Promise<T>,
): Promise<T> {
  const run = await openTrainingRun(config, options);
  const { folder, backbone } = run;
  try {
    const { backbone: backboneName, model } = config;
    await folder.log('started', { model: model.path, backbone: backboneName, total_steps: options.totalSteps });
    return await use(run);
  } catch (error) {
    // Ignore a failure to write the log, because the disk may be the reason why the run failed.
    await folder.log('failed', { error: toErrorMessage(error) }).catch(() => undefined);
    throw error;
  } finally {
    await run.recorded?.close();
    await run.teacher?.close();
    await backbone.close();
    await folder.close();
  }
}

/** Opens the teacher before the rest, so that a refused teacher ends the run early. */
async function openTrainingRun(config: CommonConfig, options: TrainingRunOptions): Promise<TrainingRun> {
  const { inputs, model, chatTokenizer, emit, signal } = options;
  const teacher = await openTeacher(config, { ...inputs, modelDir: model.modelDir, chatTokenizer, emit, signal });
  try {
    return await openRun(config, { ...options, teacher });
  } catch (error) {
    await teacher?.close();
    throw error;
  }
}

type OpenRunOptions = TrainingRunOptions & Pick<TrainingRun, 'teacher'>;

async function openRun(config: CommonConfig, options: OpenRunOptions): Promise<TrainingRun> {
  const { resume, from, totalSteps, isRecorded = false, inputs, model, signal, startedAt } = options;
  const { modelDir, summary: modelSummary } = model;
  const { algorithm, composition } = inputs;
  const onNotice = (message: string): void => options.emit({ type: 'notice', message });
  const open = async (opened: CommonConfig): Promise<Backbone> => {
    const optimizer = toOptimizerOptions(config, totalSteps);
    const backbone = await openBackbone(inputs.backbone, opened, { emit: options.emit, modelDir, optimizer, signal });
    return await requireLoss(backbone, config, algorithm);
  };
  const shared = { open, modelDir, onNotice, composition, totalSteps, isRecorded };
  const opened = await (resume === false ? openNew(config, shared) : openOld(config, { ...shared, resume, from }));
  keepTemplate(opened.folder, options.chatTokenizer);
  const earlier = resume === false ? undefined : await readLines(opened.folder);
  const steps = watchSteps(options.emit, { config, earlier });
  const { emit, tally } = countEpisodes(steps.listener);
  const watched = watchEngine(opened.backbone, options.teacher);
  return {
    ...opened,
    config,
    algorithm,
    teacher: options.teacher,
    watched,
    emit,
    tally,
    checkCollapse: steps.checkCollapse,
    signal,
    startedAt,
    modelSummary,
  };
}

const readLines = async (folder: RunFolder): Promise<EarlierLines> => ({
  metrics: await folder.readMetrics(),
  evaluations: await folder.readEvaluations(),
});

/** Throws if the backbone cannot train the configured loss, and closes it, before anything is sampled. */
async function requireLoss(backbone: Backbone, config: CommonConfig, algorithm: Algorithm): Promise<Backbone> {
  try {
    checkLoss({ algorithm, backbone, loss: toTrainSettings(config, algorithm).loss });
    return backbone;
  } catch (error) {
    await backbone.close();
    throw error;
  }
}

type Opened = Pick<TrainingRun, 'folder' | 'backbone' | 'checkpoint' | 'recorded' | 'optimizer'>;

type Open = Pick<ResumeOptions, 'onNotice' | 'composition' | 'modelDir'> & {
  readonly open: (config: CommonConfig) => Promise<Backbone>;
  readonly totalSteps: number;
  readonly isRecorded: boolean;
};

async function openNew(config: CommonConfig, options: Open): Promise<Opened> {
  const { onNotice, composition, modelDir } = options;
  const { experimentDir, experimentName } = config;
  for (const message of noticeAdapterBase(config, modelDir)) onNotice(message);
  const folder = await createRunFolder({
    experimentDir,
    experimentName,
    configYaml: composition.format(config),
    code: hashCode(config),
    keepBest: config.trainerCommon.keepBest,
    onNotice,
  });
  try {
    const backbone = await openAndRecord(config, folder, options);
    return await withRecording(config, { folder, backbone, checkpoint: undefined }, options);
  } catch (error) {
    await folder.close();
    // Remove the folder of a run that never began, so that it does not count as the newest run.
    await rm(folder.dir, { recursive: true, force: true });
    throw error;
  }
}

/** Records which model the run begins with, while the backbone reads it. */
async function openAndRecord(
  config: CommonConfig,
  folder: RunFolder,
  { modelDir, open }: Pick<Open, 'modelDir' | 'open'>,
): Promise<Backbone> {
  const recorded = folder.recordModel(modelDir);
  const [opened, noted] = await Promise.allSettled([open(config), recorded]);
  if (opened.status === 'rejected') throw opened.reason;
  if (noted.status === 'fulfilled') return opened.value;
  await opened.value.close();
  throw noted.reason;
}

async function openOld(config: CommonConfig, options: ResumeOptions & Open): Promise<Opened> {
  const { onNotice, composition, from } = options;
  const { run: folder, checkpoint, changes } = await openResumedRun(config, options);
  const begun = checkpoint === undefined ? config : withoutStart(config);
  const backbone = await openAndRecord(begun, folder, options);
  if (checkpoint !== undefined) await loadCheckpoint(backbone, checkpoint);
  const isChosen = from !== undefined;
  const opened = await withRecording(config, { folder, backbone, checkpoint }, { ...options, changes, isChosen });
  const firstStep = (opened.recorded?.lastStep ?? checkpoint?.state.step ?? 0) + 1;
  await recordChanges(folder, changes, {
    firstStep,
    configYaml: composition.format(config),
    code: hashCode(config),
    onNotice,
  });
  return opened;
}

/** A checkpoint has its own adapter, so the folder of `lora.adapter` may be gone. */
export const withoutStart = (config: CommonConfig): CommonConfig => ({
  ...config,
  lora: { ...config.lora, adapter: null },
});

type Recording = Pick<Open, 'onNotice' | 'totalSteps' | 'isRecorded'> &
  Partial<Pick<RecordedRunOptions, 'changes' | 'isChosen'>>;

async function withRecording(
  config: CommonConfig,
  given: Omit<Opened, 'recorded' | 'optimizer'>,
  { onNotice, totalSteps, isRecorded, changes = [], isChosen = false }: Recording,
): Promise<Opened> {
  const opened = { ...given, optimizer: toOptimizerOptions(config, totalSteps) };
  if (!isRecorded) return opened;
  try {
    const recorded = await openRecordedRun({ ...opened, config, changes, isChosen, onNotice });
    return { ...opened, recorded };
  } catch (error) {
    await opened.backbone.close();
    throw error;
  }
}

/** Throws BackboneError `checkpoint` if the weights are of another version than the run's state says. */
export async function loadCheckpoint(backbone: Backbone, { dir, state }: Checkpoint): Promise<void> {
  await backbone.load(dir);
  if (backbone.policyVersion === state.policyVersion) return;
  await backbone.close();
  throw new BackboneError(
    'checkpoint',
    `The checkpoint ${dir} is broken: its weights are of version ${backbone.policyVersion}, its state.json says ${state.policyVersion}. ` +
      'Resume from another one with --from.',
  );
}
