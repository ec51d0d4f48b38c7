import { TaskError } from '@agentjet/core';
import { checkTask, createTaskReader, type TaskInput, type TaskReader, type TaskTable } from '@agentjet/rollout/inputs';

type Pass = Iterable<TaskInput> | AsyncIterable<TaskInput>;

function isPass(value: unknown): value is Pass {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function startPass(reader: TaskReader, method: 'trainingTasks' | 'evaluationTasks'): Pass {
  const pass: unknown = reader[method]();
  if (isPass(pass)) return pass;
  throw new TaskError(
    'bad_reader',
    `${method}() of the task reader returned ${String(pass)}, which is not an iterable of tasks. Make it an async generator: async *${method}() { yield { taskId, mainQuery }; }`,
  );
}

/**
 * Returns a reader that also checks each task when it is read. A task needs a unique id and the other required fields.
 */
export function checkReader(reader: TaskReader): TaskReader {
  const checked = createTaskReader({
    training: () => startPass(reader, 'trainingTasks'),
    evaluation: () => startPass(reader, 'evaluationTasks'),
  });
  return {
    ...checked,
    ...(reader.trainingTable !== undefined && {
      trainingTable: async () => checkTable(await reader.trainingTable?.()),
    }),
    ...(reader.describe !== undefined && { describe: reader.describe.bind(reader) }),
  };
}

function checkTable(table: TaskTable | undefined): TaskTable {
  const { size, taskAt } = table ?? {};
  const isSize = size === null || (Number.isSafeInteger(size) && Number(size) >= 0);
  if (table === undefined || !isSize || typeof taskAt !== 'function')
    throw new TaskError(
      'bad_reader',
      `trainingTable() of the task reader gave ${table === undefined ? 'nothing' : `size ${JSON.stringify(size)} and ${typeof taskAt} as taskAt`}. Give { size, source, taskAt }: a count or null, the source of the tasks, and an async function of an index.`,
    );
  return {
    size: table.size,
    source: table.source,
    taskAt: async (index) => checkTask(await table.taskAt(index), `training task ${index + 1}`),
  };
}
