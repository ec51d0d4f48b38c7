import type { Task } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { collectTasks, createTaskSchedule, type Draw } from './task-schedule.js';

const makeTasks = (count: number): Task[] =>
  Array.from({ length: count }, (_, index) => ({ taskId: `t${index}`, mainQuery: '', initMessages: [], metadata: {} }));
const idsOf = (draws: readonly Draw[]): string[] => draws.map(({ task }) => task.taskId);
const options = { batchSize: 4, epochs: 2, totalSteps: null, shuffle: true, seed: 1 };

describe('createTaskSchedule', () => {
  it('draws every task once per epoch, in a new order each, and ends', () => {
    const schedule = createTaskSchedule(makeTasks(10), options);
    expect(schedule.totalSteps).toBe(5);
    const first = idsOf(schedule.slice(0, 10));
    const second = idsOf(schedule.slice(10, 10));
    expect(first.toSorted()).toEqual(idsOf(schedule.slice(0, 10)).toSorted());
    expect(new Set(first).size).toBe(10);
    expect(second.toSorted()).toEqual(first.toSorted());
    expect(second).not.toEqual(first);
    expect(schedule.slice(18, 4).map(({ epoch }) => epoch)).toEqual([1, 1]);
    expect(schedule.slice(20, 4)).toEqual([]);
  });

  it('gives a resumed run the tasks the interrupted one would have had', () => {
    const whole = createTaskSchedule(makeTasks(10), options);
    for (let start = 0; start < 16; start += 4) whole.slice(start, 4);
    expect(createTaskSchedule(makeTasks(10), options).slice(8, 4)).toEqual(whole.slice(8, 4));
  });

  it('goes on over further epochs when the steps are given, and never has a task twice in a step', () => {
    const schedule = createTaskSchedule(makeTasks(3), { ...options, totalSteps: 5, shuffle: false });
    expect(schedule).toMatchObject({ totalSteps: 5, batchSize: 3 });
    expect(idsOf(schedule.slice(12, 3))).toEqual(['t0', 't1', 't2']);
    expect(schedule.slice(15, 3)).toEqual([]);
  });
});

describe('collectTasks', () => {
  async function* count(limit: number): AsyncGenerator<Task> {
    for (let index = 0; index < limit; index++)
      yield { taskId: String(index), mainQuery: '', initMessages: [], metadata: {} };
  }

  it('takes a list whole, however few tasks are needed', async () => {
    expect(await collectTasks(count(500), 5)).toHaveLength(500);
  });

  it('draws from an endless source only what is needed', async () => {
    expect(await collectTasks(count(Infinity), 12_000)).toHaveLength(12_000);
  });

  it('says what to do about an endless source without a number of steps', async () => {
    await expect(collectTasks(count(Infinity), null)).rejects.toThrow(/total_training_steps/);
  });
});
