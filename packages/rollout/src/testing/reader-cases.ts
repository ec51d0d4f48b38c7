import assert from 'node:assert/strict';
import { isJsonObject, type ContractCase } from '@agentjet/core';
import { createTaskReader, type TaskReader } from '../tasks/task-reader.js';
import { collectAll } from './collect-all.js';

async function checkPasses(reader: TaskReader): Promise<void> {
  const first = await collectAll(reader.trainingTasks());
  assert.ok(first.length > 0, 'The reader has no training tasks.');
  assert.deepEqual(await collectAll(reader.trainingTasks()), first, 'A second pass gives other tasks than the first.');
  const evaluation = await collectAll(reader.evaluationTasks());
  assert.deepEqual(await collectAll(reader.evaluationTasks()), evaluation);
}

async function checkTogether(reader: TaskReader): Promise<void> {
  const alone = await collectAll(reader.trainingTasks());
  const passes = await Promise.all([collectAll(reader.trainingTasks()), collectAll(reader.trainingTasks())]);
  assert.deepEqual(passes, [alone, alone], 'Two passes at the same time disturb each other.');
}

async function checkTasks(reader: TaskReader): Promise<void> {
  const checked = createTaskReader({
    training: () => reader.trainingTasks(),
    evaluation: () => reader.evaluationTasks(),
  });
  const tasks = [...(await collectAll(checked.trainingTasks())), ...(await collectAll(checked.evaluationTasks()))];
  for (const { taskId, mainQuery, initMessages, metadata } of tasks) {
    assert.equal(typeof mainQuery, 'string', `The question of task "${taskId}" is not a string.`);
    assert.ok(Array.isArray(initMessages), `initMessages of task "${taskId}" is not a list.`);
    assert.ok(isJsonObject(metadata), `metadata of task "${taskId}" is not an object.`);
    assert.deepEqual(JSON.parse(JSON.stringify(metadata)), metadata, `metadata of task "${taskId}" is not JSON.`);
  }
}

async function checkLeaving(reader: TaskReader): Promise<void> {
  const all = await collectAll(reader.trainingTasks());
  for await (const task of reader.trainingTasks()) {
    assert.deepEqual(task, all[0]);
    break;
  }
  assert.deepEqual(await collectAll(reader.trainingTasks()), all, 'A pass that was left early changes the next.');
}

/**
 * Cases that every TaskReader must pass, including those of external authors: `for (const { name, run } of
 * readerCases(open)) it(name, run)`. `open` returns a reader with at least one training task.
 */
export function readerCases(open: () => TaskReader | Promise<TaskReader>): readonly ContractCase[] {
  const named = (name: string, check: (reader: TaskReader) => Promise<void>): ContractCase => ({
    name,
    run: async () => check(await open()),
  });
  return [
    named('gives the same tasks in every pass', checkPasses),
    named('keeps passes at the same time apart', checkTogether),
    named('gives each task its own id, and JSON as metadata', checkTasks),
    named('may be left in the middle of a pass', checkLeaving),
  ];
}
