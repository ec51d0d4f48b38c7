import type { Task } from '@agentjet/core';
import { createListTable, createTaskReader, type TaskReader, type TaskTable } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { checkReader } from './check-reader.js';

const task: Task = { taskId: 'a', mainQuery: 'x', initMessages: [], metadata: {} };

function readerWith(table: TaskTable): TaskReader {
  return checkReader({ ...createTaskReader({ training: [task] }), trainingTable: async () => table });
}

it("keeps a reader's table, and checks its tasks when they are read", async () => {
  const table = await readerWith(createListTable([task, { ...task, taskId: '' }], 'a list')).trainingTable?.();
  expect(table).toMatchObject({ size: 2, source: { kind: 'list', location: 'a list' } });
  expect(await table?.taskAt(0)).toEqual(task);
  await expect(table?.taskAt(1)).rejects.toThrow(/training task 2 has taskId ""/);
  await expect(table?.taskAt(2)).rejects.toThrow(/no task 2: a list has 2/);
});

it.each([
  [
    'a size that is not a count',
    { ...createListTable([task], 'a list'), size: 0.5 },
    /size 0\.5 and function as taskAt/,
  ],
  ['nothing', undefined as unknown as TaskTable, /gave nothing/],
])('refuses a table with %s', async (_, table, message) => {
  await expect(readerWith(table).trainingTable?.()).rejects.toThrow(message);
});

it('a reader without a table has none', () => {
  expect(checkReader(createTaskReader({ training: [task] })).trainingTable).toBeUndefined();
});
