import type { Task } from '@agentjet/core';
import { createListTable, type TaskTable } from '@agentjet/rollout';
import { addDraws, drawsOf, type Draw, type Draws } from '@agentjet/run-folder';
import { describe, expect, it } from 'vitest';
import { createTaskSchedule, type TaskSchedule } from './task-schedule.js';

const makeTable = (count: number): TaskTable => {
  const tasks = Array.from(
    { length: count },
    (_, index): Task => ({ taskId: `t${index}`, mainQuery: '', initMessages: [], metadata: {} }),
  );
  return createListTable(tasks, 'a list');
};
const options = { batchSize: 4, epochs: 2, totalSteps: null, shuffle: true, seed: 1 };

/** Returns the first `count` draws that are left. */
function next(schedule: TaskSchedule, count: number, drawn: Draws = []): readonly Draw[] {
  const left = schedule.draws(drawn);
  return Array.from({ length: count }, () => left.next().value);
}
/** Returns the draws [start, start + count) of a run that was never interrupted. */
const slice = (schedule: TaskSchedule, start: number, count: number): readonly Draw[] =>
  next(schedule, start + count).slice(start);
const idsOf = async (schedule: TaskSchedule, draws: readonly Draw[]): Promise<readonly string[]> =>
  (await Promise.all(draws.map((draw) => schedule.taskOf(draw)))).map(({ taskId }) => taskId);

describe('createTaskSchedule', () => {
  it('draws every task once per epoch, in a new order each, and its last step takes what is left', async () => {
    const schedule = createTaskSchedule(makeTable(10), options);
    expect(schedule.totalSteps).toBe(5);
    const first = await idsOf(schedule, slice(schedule, 0, 10));
    const second = await idsOf(schedule, slice(schedule, 10, 10));
    expect(first).toEqual(await idsOf(schedule, slice(schedule, 0, 10)));
    expect(new Set(first).size).toBe(10);
    expect(second.toSorted()).toEqual(first.toSorted());
    expect(second).not.toEqual(first);
    expect(slice(schedule, 18, 4).map(({ epoch }) => epoch)).toEqual([1, 1, 2, 2]);
    expect([1, 2, 3, 4, 5, 6].map(schedule.sizeOf)).toEqual([4, 4, 4, 4, 4, 0]);
    const uneven = createTaskSchedule(makeTable(10), { ...options, epochs: 1 });
    expect([1, 2, 3, 4].map(uneven.sizeOf)).toEqual([4, 4, 2, 0]);
  });

  it('gives a resumed run the tasks the interrupted one would have had', async () => {
    const schedule = createTaskSchedule(makeTable(10), options);
    const whole = await idsOf(schedule, next(schedule, 20));
    for (let start = 0; start <= 20; start += 4) {
      const left = next(createTaskSchedule(makeTable(10), options), 20 - start, addDraws([], next(schedule, start)));
      expect(await idsOf(schedule, left)).toEqual(whole.slice(start));
    }
  });

  it('draws what is left, also if groups finished in another order', () => {
    const schedule = createTaskSchedule(makeTable(4), options);
    const drawn = addDraws(
      [],
      [
        { epoch: 0, index: 3 },
        { epoch: 1, index: 0 },
        { epoch: 0, index: 1 },
      ],
    );
    expect(next(schedule, 5, drawn)).toEqual([
      { epoch: 0, index: 0 },
      { epoch: 0, index: 2 },
      { epoch: 1, index: 1 },
      { epoch: 1, index: 2 },
      { epoch: 1, index: 3 },
    ]);
  });

  it('resumes after a checkpoint that has only a count, which may reach into later epochs', () => {
    const schedule = createTaskSchedule(makeTable(10), options);
    for (const groupsDrawn of [0, 4, 10, 12, 20])
      expect(next(schedule, 20 - groupsDrawn, drawsOf({ groupsDrawn }))).toEqual(next(schedule, 20).slice(groupsDrawn));
    const [first, ...left] = next(schedule, 8, drawsOf({ groupsDrawn: 12 }));
    if (first === undefined) throw new Error('Nothing is left.');
    expect(next(schedule, 7, addDraws(drawsOf({ groupsDrawn: 12 }), [first]))).toEqual(left);
  });

  it('continues over further epochs if the steps are given, and never has a task twice in a step', async () => {
    const schedule = createTaskSchedule(makeTable(3), { ...options, totalSteps: 5, shuffle: false });
    expect(schedule).toMatchObject({ totalSteps: 5, batchSize: 3 });
    expect(await idsOf(schedule, slice(schedule, 12, 3))).toEqual(['t0', 't1', 't2']);
    expect([5, 6].map(schedule.sizeOf)).toEqual([3, 0]);
  });

  it('reads a task when it is drawn, and draws from a table whose size nobody knows', async () => {
    const read: number[] = [];
    const taskAt: TaskTable['taskAt'] = async (index) => {
      read.push(index);
      return makeTable(index + 1).taskAt(index);
    };
    const table: TaskTable = { ...makeTable(0), size: null, taskAt };
    const schedule = createTaskSchedule(table, { ...options, totalSteps: 2 });
    expect(schedule).toMatchObject({ totalSteps: 2, batchSize: 4 });
    const draws = next(schedule, 5, drawsOf({ groupsDrawn: 3 }));
    expect(draws.map(({ index }) => index)).toEqual([3, 4, 5, 6, 7]);
    expect(read).toEqual([]);
    expect(await idsOf(schedule, draws.slice(0, 2))).toEqual(['t3', 't4']);
    expect(read).toEqual([3, 4]);
    expect(() => createTaskSchedule(table, options)).toThrow(
      /The number of tasks in a list is unknown\. Set .*total_training_steps/,
    );
  });
});
