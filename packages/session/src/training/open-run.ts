import { rm } from 'node:fs/promises';
import { formatConfig, TaskError, type AgentJetConfig, type Backbone, type Task } from '@agentjet/core';
import type { TaskReader } from '@agentjet/rollout';
import { createRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';
import { collectTasks, createTaskSchedule, type TaskSchedule } from '../schedule/task-schedule.js';
import type { JobListener } from '../events.js';
import { openBackbone } from '../policy/open-backbone.js';
import { openResumedRun } from './resume-run.js';
import { toOptimizerOptions } from './train-settings.js';

export type Plan = { readonly schedule: TaskSchedule; readonly evaluationTasks: readonly Task[] };

/** Reads all tasks, so that a bad one is found before anything runs. Tells of evaluations that were asked for and cannot be. */
export async function readPlan(config: AgentJetConfig, reader: TaskReader, emit: JobListener): Promise<Plan> {
  const { trainerCommon, data, taskReader } = config;
  const { totalTrainingSteps, totalEpochs, seed } = trainerCommon;
  const isEvaluated = trainerCommon.valBeforeTrain || trainerCommon.testFreq > 0;
  const tasks = await collectTasks(
    reader.trainingTasks(),
    totalTrainingSteps === null ? null : totalTrainingSteps * data.trainBatchSize,
  );
  if (tasks.length === 0) {
    throw new TaskError('no_tasks', 'The task reader has no training tasks. Check task_reader, or what setData() got.');
  }
  const evaluationTasks = isEvaluated ? await collectTasks(reader.evaluationTasks(), null) : [];
  if (trainerCommon.testFreq > 0 && evaluationTasks.length === 0)
    emit({ type: 'notice', message: noEvaluation(trainerCommon.testFreq) });
  return {
    schedule: createTaskSchedule(tasks, {
      batchSize: data.trainBatchSize,
      epochs: totalEpochs,
      totalSteps: totalTrainingSteps,
      shuffle: taskReader.shuffle,
      seed,
    }),
    evaluationTasks,
  };
}

function noEvaluation(testFreq: number): string {
  return `trainer_common.test_freq is ${testFreq}, but there are no evaluation tasks, so nothing is evaluated. Set task_reader.jsonl_dataset_file.validation.file_path, or give the task reader or setData() some.`;
}

export type OpenRun = {
  readonly run: RunFolder;
  readonly backbone: Backbone;
  readonly checkpoint: Checkpoint | undefined;
};

async function openNewRun(config: AgentJetConfig, open: () => Promise<Backbone>): Promise<OpenRun> {
  const { experimentDir, experimentName } = config;
  const run = await createRunFolder({ experimentDir, experimentName, configYaml: formatConfig(config) });
  try {
    return { run, backbone: await open(), checkpoint: undefined };
  } catch (error) {
    await rm(run.dir, { recursive: true, force: true }); // a run that never began must not be the newest one
    throw error;
  }
}

async function openOldRun(
  config: AgentJetConfig,
  resume: true | string,
  open: () => Promise<Backbone>,
): Promise<OpenRun> {
  const { run, checkpoint } = await openResumedRun(config, resume);
  const backbone = await open();
  if (checkpoint !== undefined) await backbone.load(checkpoint.dir);
  return { run, checkpoint, backbone };
}

/** A new run folder, or an old one as its last checkpoint left it; and the backbone with the weights that go with it. */
export function openRun(
  config: AgentJetConfig,
  totalSteps: number,
  { resume, emit }: { readonly resume: boolean | string; readonly emit: JobListener },
): Promise<OpenRun> {
  const open = (): Promise<Backbone> => openBackbone(config, emit, toOptimizerOptions(config, totalSteps));
  return resume === false ? openNewRun(config, open) : openOldRun(config, resume, open);
}
