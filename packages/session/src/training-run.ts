import { rm } from 'node:fs/promises';
import { BackboneError, formatConfig, toErrorMessage, type AgentJetConfig, type Backbone } from '@agentjet/core';
import { createRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';
import type { JobListener } from './events.js';
import { watchEngine, type WatchedEngine } from './policy/engine-health.js';
import { openBackbone } from './policy/open-backbone.js';
import { countEpisodes, type EpisodeTally } from './training/episode-tally.js';
import { noticeStall } from './training/notice-stall.js';
import { openResumedRun, type ResumeOptions } from './training/resume-run.js';
import { toOptimizerOptions } from './training/train-settings.js';

/** One training run: its configuration, its folder, the backbone that learns, and where it goes on from. */
export type TrainingRun = {
  readonly config: AgentJetConfig;
  readonly folder: RunFolder;
  readonly backbone: Backbone;
  /** What episodes sample from: the backbone's engine, with a check that it still answers. */
  readonly watched: WatchedEngine;
  /** Undefined if the run begins anew. */
  readonly checkpoint: Checkpoint | undefined;
  readonly emit: JobListener;
  readonly tally: EpisodeTally;
  /** Aborting it ends the run after the step in progress. */
  readonly signal: AbortSignal | undefined;
  /** `performance.now()` when the job began. */
  readonly startedAt: number;
};

export type TrainingRunOptions = Pick<TrainingRun, 'signal' | 'startedAt' | 'emit'> & {
  readonly totalSteps: number;
  /** True: go on from the last checkpoint of the experiment's newest run. A string: of that run folder. */
  readonly resume: boolean | string;
  /** With `resume`: the checkpoint to go on from, such as `step-20`; undefined: the newest that is whole. */
  readonly from: string | undefined;
};

/** Opens a run, lets `use` train it, and closes it. The run's log says how it ended. */
export async function withTrainingRun<T>(
  config: AgentJetConfig,
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
    await folder.log('failed', { error: toErrorMessage(error) }).catch(() => undefined); // the disk may be what failed
    throw error;
  } finally {
    await backbone.close();
    await folder.close();
  }
}

async function openTrainingRun(config: AgentJetConfig, options: TrainingRunOptions): Promise<TrainingRun> {
  const { resume, from, totalSteps, signal, startedAt } = options;
  const onNotice = (message: string): void => options.emit({ type: 'notice', message });
  const open = (): Promise<Backbone> => openBackbone(config, options.emit, toOptimizerOptions(config, totalSteps));
  const opened = await (resume === false
    ? openNew(config, { open, onNotice })
    : openOld(config, { resume, from, open, onNotice }));
  const { emit, tally } = countEpisodes(noticeStall(options.emit, config.trainableTargets));
  return { ...opened, config, watched: watchEngine(opened.backbone.engine), emit, tally, signal, startedAt };
}

type Opened = Pick<TrainingRun, 'folder' | 'backbone' | 'checkpoint'>;

type Open = { readonly open: () => Promise<Backbone>; readonly onNotice: (message: string) => void };

async function openNew(config: AgentJetConfig, { open, onNotice }: Open): Promise<Opened> {
  const { experimentDir, experimentName } = config;
  const folder = await createRunFolder({ experimentDir, experimentName, configYaml: formatConfig(config), onNotice });
  try {
    return { folder, backbone: await open(), checkpoint: undefined };
  } catch (error) {
    await folder.close();
    await rm(folder.dir, { recursive: true, force: true }); // a run that never began must not be the newest one
    throw error;
  }
}

async function openOld(config: AgentJetConfig, options: ResumeOptions & Open): Promise<Opened> {
  const { run: folder, checkpoint } = await openResumedRun(config, options);
  const backbone = await options.open();
  if (checkpoint !== undefined) await loadCheckpoint(backbone, checkpoint);
  return { folder, backbone, checkpoint };
}

/** Throws BackboneError `checkpoint` if the weights are of another version than the run's state says. */
async function loadCheckpoint(backbone: Backbone, { dir, state }: Checkpoint): Promise<void> {
  await backbone.load(dir);
  if (backbone.policyVersion === state.policyVersion) return;
  await backbone.close();
  throw new BackboneError(
    'checkpoint',
    `The checkpoint ${dir} is broken: its weights are of version ${backbone.policyVersion}, its state.json says ${state.policyVersion}. ` +
      'Go on from another one with --from.',
  );
}
