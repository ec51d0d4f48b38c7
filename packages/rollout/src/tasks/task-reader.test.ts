import { TaskError, type Task } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createTaskReader, type TaskInput } from './task-reader.js';
import { repeatTasks, shuffleTasks } from './task-order.js';

async function collect(tasks: AsyncIterable<Task>): Promise<readonly Task[]> {
  const collected: Task[] = [];
  for await (const task of tasks) collected.push(task);
  return collected;
}

describe('createTaskReader', () => {
  it('reads lists and generators, as often as asked', async () => {
    async function* training(): AsyncGenerator<TaskInput> {
      yield { taskId: 'a', mainQuery: 'x' };
      yield { taskId: 'b', mainQuery: 'y', metadata: { level: 2 } };
    }
    const reader = createTaskReader({ training, evaluation: [{ taskId: 'a', mainQuery: 'z' }] });
    const first = await collect(reader.trainingTasks());
    expect(first).toEqual([{ taskId: 'a', mainQuery: 'x', initMessages: [], metadata: {} }, { taskId: 'b', mainQuery: 'y', initMessages: [], metadata: { level: 2 } }]);
    expect(await collect(reader.trainingTasks())).toEqual(first);
    expect(await collect(reader.evaluationTasks())).toHaveLength(1);
    expect(await collect(createTaskReader({ training }).evaluationTasks())).toEqual([]);
  });

  it.each([
    [[{ taskId: '', mainQuery: 'x' }], /training task 1 has taskId ""/],
    [[{ taskId: 'a', mainQuery: 'x' }, { taskId: 'a', mainQuery: 'y' }], /"a" of training task 2 was used by task 1/],
    [[undefined], /training task 1 is undefined/],
  ])('refuses %o', async (tasks, message) => {
    const error = await collect(createTaskReader({ training: tasks as unknown as readonly TaskInput[] }).trainingTasks()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).message).toMatch(message);
  });
});

describe('order', () => {
  const tasks = Array.from({ length: 20 }, (_none, at): Task => ({ taskId: `t${at}`, mainQuery: '', initMessages: [], metadata: {} }));
  const ids = (list: readonly Task[]): string => list.map(({ taskId }) => taskId).join();

  it('is a permutation that the seed decides', () => {
    expect(ids(shuffleTasks(tasks, 1))).toBe(ids(shuffleTasks(tasks, 1)));
    expect(ids(shuffleTasks(tasks, 1))).not.toBe(ids(shuffleTasks(tasks, 2)));
    expect([...shuffleTasks(tasks, 1)].map(({ taskId }) => taskId).sort()).toEqual(tasks.map(({ taskId }) => taskId).sort());
  });

  it('differs from pass to pass where it is shuffled', () => {
    const passes = [...repeatTasks(tasks, { epochs: 2, seed: 1, shuffle: true })];
    expect(passes.map(({ epoch }) => epoch)).toEqual([...Array(20).fill(0), ...Array(20).fill(1)]);
    expect(ids(passes.slice(0, 20).map(({ task }) => task))).not.toBe(ids(passes.slice(20).map(({ task }) => task)));
    expect(ids([...repeatTasks(tasks, { epochs: 1, seed: 1, shuffle: false })].map(({ task }) => task))).toBe(ids(tasks));
    expect([...repeatTasks([], { epochs: Infinity, seed: 1, shuffle: true })]).toEqual([]);
  });
});
