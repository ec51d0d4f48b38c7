import { TaskError, type Task, type CommonConfig, type Registration, type z } from '@agentjet/core';
import type { Environment } from '../environment/environment.js';
import type { TaskTable } from './task-table.js';
import type { TasksCard } from './tasks-card.js';

/** Where problems come from. Each call starts a new pass. */
export interface TaskReader {
  trainingTasks(): AsyncIterable<Task>;
  evaluationTasks(): AsyncIterable<Task>;
  /** The training tasks as a table, for a reader that can: then they are read one by one, when a run draws them. */
  trainingTable?(): Promise<TaskTable>;
  /** The world of these tasks, if they come from one. The run opens its sessions and closes it. */
  readonly environment?: Environment | undefined;
  /** What the run folder keeps of its tasks, for a reader that can tell. */
  describe?(): Promise<TasksCard>;
}

/** A list, or a function that starts a pass: `async function* () { yield { taskId, mainQuery, ... } }`. */
export type TaskSource = readonly TaskInput[] | (() => AsyncIterable<TaskInput> | Iterable<TaskInput>);

/** What code may yield: only `taskId` and `mainQuery` are required. */
export type TaskInput = Pick<Task, 'taskId' | 'mainQuery'> & Partial<Task>;

/** A reader over tasks made in code. Bad, empty or repeated ids are a TaskError when the pass comes to them. */
export function createTaskReader(sources: {
  readonly training: TaskSource;
  readonly evaluation?: TaskSource;
}): TaskReader {
  return {
    trainingTasks: () => checkedTasks(sources.training, 'training'),
    evaluationTasks: () => checkedTasks(sources.evaluation ?? [], 'evaluation'),
  };
}

async function* checkedTasks(source: TaskSource, split: string): AsyncGenerator<Task> {
  const firstAt = new Map<string, number>();
  let at = 0;
  for await (const input of typeof source === 'function' ? source() : source) {
    at++;
    const task = checkTask(input, `${split} task ${at}`);
    const earlier = firstAt.get(task.taskId);
    if (earlier !== undefined) {
      throw new TaskError(
        'duplicate_task_id',
        `Task id "${task.taskId}" of ${split} task ${at} was used by task ${earlier} already. Give each task an id of its own.`,
      );
    }
    firstAt.set(task.taskId, at);
    yield task;
  }
}

/** What code gave as a task, with the fields that it left out. Throws TaskError, naming the place, if it is not one. */
export function checkTask(input: unknown, where: string): Task {
  if (typeof input !== 'object' || input === null) {
    throw new TaskError('bad_task', `The ${where} is ${String(input)}. Yield { taskId, mainQuery }.`);
  }
  const { taskId, mainQuery = '', initMessages = [], metadata = {} } = input as Partial<Task>;
  if (typeof taskId !== 'string' || taskId === '') {
    throw new TaskError(
      'empty_task_id',
      `The ${where} has taskId ${JSON.stringify(taskId)}. Give each task an id, a text that is not empty.`,
    );
  }
  return { taskId, mainQuery, initMessages, metadata };
}

/** What every task reader is opened with besides its own section. */
export type ReaderParts = {
  readonly config: CommonConfig;
  /** What `environment.protocol` names, or code gave. */
  readonly environment?: Environment | undefined;
  /** Told what a person should know while tasks are read, such as how far it is. */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** Ends the reading of tasks, which may take long. */
  readonly signal?: AbortSignal | undefined;
};

export type ReaderRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, ReaderParts, TaskReader, Flat>;

/** A reader that `task_reader.type:` may name, or that `setData()` takes. */
export function defineReader<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: ReaderRegistration<Name, Section, Flat>,
): ReaderRegistration<Name, Section, Flat> {
  return registration;
}
