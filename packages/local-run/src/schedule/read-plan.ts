import type { CommonConfig, Task } from '@agentjet/core';
import { createListTable, type TaskReader, type TasksCard, type TaskTable } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';
import { collectTasks, noTrainingTasks } from '@agentjet/inputs';
import type { Selected } from './select-by-difficulty.js';
import { createTaskSchedule, type TaskSchedule } from './task-schedule.js';

export type Plan = {
  readonly schedule: TaskSchedule;
  readonly evaluationTasks: readonly Task[];
  /** The description of the tasks that the run folder keeps. */
  readonly tasks: TasksCard;
};

/** Leaves out some of the tasks. */
type Narrow = (table: TaskTable) => Promise<Selected>;

/**
 * Opens the tasks, so that a bad task is found before anything runs, and lets `narrow` choose among them. Reports
 * configured evaluations that are not possible.
 */
export async function readPlan(
  config: CommonConfig,
  reader: TaskReader,
  emit: JobListener,
  narrow: Narrow = async (table) => ({ table, dropped: [] }),
): Promise<Plan> {
  const { trainerCommon, data, taskReader } = config;
  const { totalTrainingSteps, totalEpochs, seed } = trainerCommon;
  const isEvaluated = evaluatesAtAll(trainerCommon);
  const neededTasks = totalTrainingSteps === null ? null : totalTrainingSteps * data.trainBatchSize;
  const all = await openTrainingTable(reader, neededTasks);
  if (all.size === 0) throw noTrainingTasks();
  const evaluationTasks = isEvaluated ? await collectTasks(reader.evaluationTasks(), null) : [];
  if (trainerCommon.testFreq > 0 && evaluationTasks.length === 0)
    emit({ type: 'notice', message: noEvaluation(trainerCommon.testFreq) });
  const { table, dropped } = await narrow(all);
  const card = (await reader.describe?.()) ?? describe(all, evaluationTasks);
  return {
    schedule: createTaskSchedule(table, {
      batchSize: data.trainBatchSize,
      epochs: totalEpochs,
      totalSteps: totalTrainingSteps,
      shuffle: taskReader.shuffle,
      seed,
    }),
    evaluationTasks,
    tasks: {
      ...card,
      training: { ...card.training, tasks: table.size, dropped: [...card.training.dropped, ...dropped] },
    },
  };
}

/** Describes the tasks of a reader that does not describe them itself. */
function describe({ size, source }: TaskTable, evaluationTasks: readonly Task[]): TasksCard {
  const evaluation = {
    tasks: evaluationTasks.length,
    sources: evaluationTasks.length === 0 ? [] : [source],
    dropped: [],
  };
  return { training: { tasks: size, sources: [source], dropped: [] }, evaluation };
}

/** Opens the reader's own table. If it has none, makes a list of the tasks that it yields. */
export async function openTrainingTable(reader: TaskReader, neededTasks: number | null): Promise<TaskTable> {
  if (reader.trainingTable !== undefined) return reader.trainingTable();
  return createListTable(await collectTasks(reader.trainingTasks(), neededTasks), 'the task reader');
}

function noEvaluation(testFreq: number): string {
  return `trainer_common.test_freq is ${testFreq}, but there are no evaluation tasks, so nothing is evaluated. Set task_reader.jsonl_dataset_file.validation.file_path, or give the task reader or setData() some.`;
}

/** Returns whether a run evaluates before its first step or between steps. */
export const evaluatesAtAll = ({ valBeforeTrain, testFreq }: CommonConfig['trainerCommon']): boolean =>
  valBeforeTrain || testFreq > 0;
