import { TaskError } from '@agentjet/core';
import { createTaskReader, type TaskInput, type TaskReader } from '@agentjet/rollout';

type Pass = Iterable<TaskInput> | AsyncIterable<TaskInput>;

function isPass(value: unknown): value is Pass {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function startPass(reader: TaskReader, method: 'trainingTasks' | 'evaluationTasks'): Pass {
  const pass: unknown = reader[method]();
  if (isPass(pass)) return pass;
  throw new TaskError(
    'bad_reader',
    `${method}() of the task reader returned ${String(pass)}, which is no iterable of tasks. Make it an async generator: async *${method}() { yield { taskId, mainQuery }; }`,
  );
}

/** The same reader, with every task checked as it comes: an id of its own, and what else a task must have. */
export function checkReader(reader: TaskReader): TaskReader {
  return createTaskReader({
    training: () => startPass(reader, 'trainingTasks'),
    evaluation: () => startPass(reader, 'evaluationTasks'),
  });
}
