import { TaskError } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createTaskReader, type TaskInput } from './task-reader.js';
import { collectAll } from '../testing/collect-all.js';

describe('createTaskReader', () => {
  it('reads lists and generators, as often as asked', async () => {
    async function* training(): AsyncGenerator<TaskInput> {
      yield { taskId: 'a', mainQuery: 'x' };
      yield { taskId: 'b', mainQuery: 'y', metadata: { level: 2 } };
    }
    const reader = createTaskReader({ training, evaluation: [{ taskId: 'a', mainQuery: 'z' }] });
    const first = await collectAll(reader.trainingTasks());
    expect(first).toEqual([
      { taskId: 'a', mainQuery: 'x', initMessages: [], metadata: {} },
      { taskId: 'b', mainQuery: 'y', initMessages: [], metadata: { level: 2 } },
    ]);
    expect(await collectAll(reader.trainingTasks())).toEqual(first);
    expect(await collectAll(reader.evaluationTasks())).toHaveLength(1);
    expect(await collectAll(createTaskReader({ training }).evaluationTasks())).toEqual([]);
  });

  it.each([
    [[{ taskId: '', mainQuery: 'x' }], /training task 1 has taskId ""/],
    [
      [
        { taskId: 'a', mainQuery: 'x' },
        { taskId: 'a', mainQuery: 'y' },
      ],
      /"a" of training task 2 was used by task 1/,
    ],
    [[undefined], /training task 1 is undefined/],
  ])('refuses %o', async (tasks, message) => {
    const error = await collectAll(
      createTaskReader({ training: tasks as unknown as readonly TaskInput[] }).trainingTasks(),
    ).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).message).toMatch(message);
  });
});
