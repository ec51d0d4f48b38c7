import { deriveSeed, TaskError, type Task } from '@agentjet/core';
import { shuffleTasks } from '@agentjet/rollout';
import { readTasks } from '../inputs/read-tasks.js';

/** One task in one pass over all of them. */
export type Draw = { readonly epoch: number; readonly task: Task };

/** Which tasks a run draws, in order. Without state: a resumed run begins at any place and gets the same ones. */
export type TaskSchedule = {
  /** Tasks per optimizer step: the configured number, or all where there are fewer. */
  readonly batchSize: number;
  readonly totalSteps: number;
  /** Draws [start, start + count), fewer at the end of the run. */
  slice(start: number, count: number): readonly Draw[];
};

type ScheduleOptions = {
  readonly batchSize: number;
  readonly epochs: number;
  /** Goes before `epochs`. */
  readonly totalSteps: number | null;
  readonly shuffle: boolean;
  readonly seed: number;
};

/** Pass after pass over the tasks. `tasks` must not be empty. */
export function createTaskSchedule(tasks: readonly Task[], options: ScheduleOptions): TaskSchedule {
  const batchSize = Math.min(options.batchSize, tasks.length);
  const totalSteps = options.totalSteps ?? Math.ceil((options.epochs * tasks.length) / batchSize);
  const totalDraws = options.totalSteps === null ? options.epochs * tasks.length : totalSteps * batchSize;
  let cached = { epoch: -1, order: tasks };
  const orderOf = (epoch: number): readonly Task[] => {
    if (!options.shuffle) return tasks;
    if (cached.epoch !== epoch)
      cached = { epoch, order: shuffleTasks(tasks, deriveSeed(options.seed, 'epoch', epoch)) };
    return cached.order;
  };
  const drawAt = (index: number): Draw[] => {
    const epoch = Math.floor(index / tasks.length);
    const task = orderOf(epoch)[index % tasks.length];
    return task === undefined ? [] : [{ epoch, task }];
  };
  return {
    batchSize,
    totalSteps,
    slice: (start, count) => {
      const end = Math.min(start + count, totalDraws);
      return Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset).flatMap(drawAt);
    },
  };
}

/** More than this is no list any more. */
const taskLimit = 1_000_000;
/** So many are drawn from a source without end, that shuffling them means something. */
const endlessSourceTasks = 10_000;

/** All tasks of a source; of one that may have no end, enough for `neededTasks` (null: unknown). */
export async function collectTasks(source: AsyncIterable<Task>, neededTasks: number | null): Promise<readonly Task[]> {
  const limit = neededTasks === null ? taskLimit : Math.max(neededTasks, endlessSourceTasks);
  const tasks: Task[] = [];
  for await (const task of readTasks(source)) {
    if (tasks.length >= limit) break;
    tasks.push(task);
  }
  if (neededTasks === null && tasks.length >= limit) {
    throw new TaskError(
      'too_many_tasks',
      `The task reader has more than ${taskLimit} training tasks. Set trainer_common.total_training_steps, so that only what those steps need is drawn.`,
    );
  }
  return tasks;
}
