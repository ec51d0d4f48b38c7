import { TaskError, type Task } from '@agentjet/core';
import { readTasks } from './read-tasks.js';

/** The most tasks that a list may have. */
const taskLimit = 1_000_000;
/** The number of tasks that are drawn from an endless source. It is large enough for shuffling to have an effect. */
const endlessSourceTasks = 10_000;

/** All tasks of a source. For a source that may be endless: enough for `neededTasks` (null: unknown). */
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
