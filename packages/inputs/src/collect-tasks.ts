import { TaskError, type Task } from '@agentjet/core';
import { readTasks } from './read-tasks.js';

/** The maximum number of tasks in a list. */
const taskLimit = 1_000_000;
/** The number of tasks that are drawn from an endless source. It is large enough for shuffling to have an effect. */
const endlessSourceTasks = 10_000;

/** The error of a job that has no tasks to train on. */
export function noTrainingTasks(): TaskError {
  return new TaskError('no_tasks', 'The task reader has no training tasks. Check task_reader, or what setData() got.');
}

/**
 * Returns all tasks of a source, or at least `neededTasks` tasks if the source may be endless. `neededTasks` is null if
 * the number is unknown.
 */
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
