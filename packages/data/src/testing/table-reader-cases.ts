import assert from 'node:assert/strict';
import { TaskError, type ContractCase } from '@agentjet/core';
import type { TaskReader, TaskTable } from '@agentjet/rollout';
import { readerCases, collectAll } from '@agentjet/rollout/testing';

async function tableOf(reader: TaskReader): Promise<TaskTable> {
  const table = await reader.trainingTable?.();
  assert.ok(table !== undefined, 'The reader has no trainingTable().');
  return table;
}

async function checkTable(reader: TaskReader): Promise<void> {
  const [table, tasks] = [await tableOf(reader), await collectAll(reader.trainingTasks())];
  assert.equal(table.size, tasks.length, 'The number of tasks in the table differs from that of the pass.');
  for (const index of tasks.keys())
    assert.deepEqual(
      await table.taskAt(index),
      tasks[index],
      `Task ${index} of the table differs from that of the pass.`,
    );
}

async function checkOrder(reader: TaskReader): Promise<void> {
  const [table, tasks] = [await tableOf(reader), await collectAll(reader.trainingTasks())];
  const backwards = [...tasks.keys()].toReversed();
  for (const index of backwards) assert.deepEqual(await table.taskAt(index), tasks[index]);
  const together = await Promise.all(backwards.map((index) => table.taskAt(index)));
  assert.deepEqual(together, tasks.toReversed(), 'Tasks that are asked for at the same time are mixed up.');
}

async function checkBounds(reader: TaskReader): Promise<void> {
  const table = await tableOf(reader);
  for (const index of [-1, table.size ?? 0, 0.5])
    await assert.rejects(table.taskAt(index), TaskError, `taskAt(${index}) is not refused.`);
}

async function checkCard(reader: TaskReader): Promise<void> {
  const card = await reader.describe?.();
  assert.ok(card !== undefined, 'The reader does not describe its tasks.');
  const counts = [reader.trainingTasks(), reader.evaluationTasks()].map(
    async (pass) => (await collectAll(pass)).length,
  );
  assert.deepEqual([card.training.tasks, card.evaluation.tasks], await Promise.all(counts));
  for (const { kind, location, sha256 } of [...card.training.sources, ...card.evaluation.sources]) {
    assert.ok(kind !== '' && location !== '', 'A source has no name.');
    assert.match(sha256 ?? '', /^[0-9a-f]{64}$/, `${location} has no sum.`);
  }
}

/** The contract of every reader of rows. It includes `readerCases`, which describes `open`. */
export function tableReaderCases(open: () => TaskReader | Promise<TaskReader>): readonly ContractCase[] {
  const named = (name: string, check: (reader: TaskReader) => Promise<void>): ContractCase => ({
    name,
    run: async () => check(await open()),
  });
  return [
    ...readerCases(open),
    named('has a table with the tasks of a pass', checkTable),
    named('reads a task alone, in any order and at the same time as others', checkOrder),
    named('refuses an index that the table does not have', checkBounds),
    named('describes where its tasks come from, and how many there are', checkCard),
  ];
}
