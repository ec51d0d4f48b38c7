import { TaskError, type Task, type CommonConfig, type Registration, type z } from '@agentjet/core';
import type { Environment } from '../environment/environment.js';
import type { TaskTable } from './task-table.js';
import type { TasksCard } from './tasks-card.js';

/** A source of tasks. Each call starts a new pass. */
export interface TaskReader {
  trainingTasks(): AsyncIterable<Task>;
  evaluationTasks(): AsyncIterable<Task>;
  /** The training tasks as a table, if the reader has one. A run then reads each task when it draws it. */
  trainingTable?(): Promise<TaskTable>;
  /** The environment of these tasks, if they come from an environment. The run opens its sessions and closes it. */
  readonly environment?: Environment | undefined;
  /** Describes the tasks for the run folder, if the reader can. */
  describe?(): Promise<TasksCard>;
}

/** A list, or a function that starts a pass: `async function* () { yield { taskId, mainQuery, ... } }`. */
export type TaskSource = readonly TaskInput[] | (() => AsyncIterable<TaskInput> | Iterable<TaskInput>);

/** A task as code may yield it: only `taskId` and `mainQuery` are required. */
export type TaskInput = Pick<Task, 'taskId' | 'mainQuery'> & Partial<Task>;

/** Creates a reader over tasks from code. A bad, empty or repeated id throws TaskError when the pass reaches it. */
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
        `Task id "${task.taskId}" of ${split} task ${at} was used by task ${earlier} already. Give each task a different id.`,
      );
    }
    firstAt.set(task.taskId, at);
    yield task;
  }
}

/** Fills the fields that code left out of a task. Throws TaskError, naming the place, if the value is not a task. */
export function checkTask(input: unknown, where: string): Task {
  if (typeof input !== 'object' || input === null) {
    throw new TaskError('bad_task', `The ${where} is ${String(input)}. Yield { taskId, mainQuery }.`);
  }
  const { taskId, mainQuery = '', initMessages = [], metadata = {} } = input as Partial<Task>;
  if (typeof taskId !== 'string' || taskId === '') {
    throw new TaskError(
      'empty_task_id',
      `The ${where} has taskId ${JSON.stringify(taskId)}. Give each task an id, a non-empty string.`,
    );
  }
  return { taskId, mainQuery, initMessages, metadata };
}

/** The arguments that every task reader is opened with, in addition to its own section of the configuration. */
export type ReaderParts = {
  readonly config: CommonConfig;
  /** The environment that `environment.protocol` names or that code set. */
  readonly environment?: Environment | undefined;
  /** Called with messages for people while tasks are read, such as progress. */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** Aborts the reading of tasks, which may take a long time. */
  readonly signal?: AbortSignal | undefined;
};

/** What `defineReader` returns: the name, the settings and the parts of a task reader. */
export type ReaderRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, ReaderParts, TaskReader, Flat>;

/** Defines a reader for `task_reader.type` and `setData()`. */
export function defineReader<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: ReaderRegistration<Name, Section, Flat>,
): ReaderRegistration<Name, Section, Flat> {
  return registration;
}
