import { deriveSeed, placeSeed } from '@agentjet/core';
import { applyRecord, createState, type LedgerState } from '@agentjet/ledger';
import { expect, it } from 'vitest';
import { SwarmTasks } from './swarm-tasks.js';

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

function openTable(shuffle?: boolean, state: LedgerState = createState()): SwarmTasks {
  for (const [index, taskId] of ids.entries()) {
    applyRecord(state, { kind: 'task', taskId, index, hash: taskId, total: ids.length });
  }
  return new SwarmTasks(state, { seed: 42, totalEpochs: 2, ...(shuffle !== undefined && { shuffle }) });
}

it('draws the tasks of a pass in the order of an ordinary run, with its seeds', () => {
  const table = openTable();
  const draws = Array.from({ length: 17 }, (_none, draw) => table.trainingTask(draw, 'default'));
  const first = [2, 0, 5, 7, 6, 3, 1, 4].map((index) => ids[index]); // of passOrder(42, 0, 8)
  expect(draws.slice(0, 8).map((task) => task?.taskId)).toEqual(first);
  expect(draws.map((task) => task?.pass)).toEqual([...Array(8).fill(0), ...Array(8).fill(1), undefined]);
  expect(draws.map((task) => task?.seed)).toEqual([
    ...Array(8).fill(deriveSeed(42, 'training', 0)),
    ...Array(8).fill(deriveSeed(42, 'training', 1)),
    undefined,
  ]);
  expect(placeSeed(draws[0]?.seed ?? 0, { taskId: 'c', place: 3 })).toBe(
    deriveSeed(deriveSeed(42, 'training', 0), 'c', 3),
  );
});

it('keeps the order of the table if the tasks are not shuffled', () => {
  const table = openTable(false);
  expect(ids.map((_id, draw) => table.trainingTask(draw, 'default')?.taskId)).toEqual(ids);
});

it('draws from a new version as soon as it is whole, and keeps the tasks of earlier draws', () => {
  const state = createState();
  const table = openTable(false, state);
  const former = table.trainingTask(2, 'default');
  const replaces = { list: 'new', former: 'old', firstDraw: 3, firstPass: 0 };
  applyRecord(state, { kind: 'task', taskId: 'x', index: 0, hash: 'x', table: 1 }); // a kill may leave one such record
  expect(table.trainingTask(3, 'default')?.taskId).toBe('d');
  applyRecord(state, { kind: 'task', taskId: 'x', index: 0, hash: 'x', table: 2 });
  applyRecord(state, { kind: 'task', taskId: 'y', index: 1, hash: 'y', table: 2, total: 2, replaces });
  const drawn = [3, 4, 5, 6, 7].map((draw) => table.trainingTask(draw, 'default'));
  expect(drawn.map((task) => task?.taskId)).toEqual(['x', 'y', 'x', 'y', undefined]);
  expect(drawn.map((task) => task?.pass)).toEqual([0, 0, 1, 1, undefined]);
  expect(drawn[0]).toMatchObject({ table: 2 });
  expect(former).toMatchObject({ taskId: 'c' });
  expect(table.trainingTask(2, 'default')).toMatchObject({ table: 2 }); // a repeated draw gets a task of the new list
  expect([...state.tasks.values()].map(({ taskId }) => taskId)).toEqual(['x', 'y']); // no group needs the other tasks
});
