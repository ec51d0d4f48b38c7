import type { Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import { shuffleTasks } from './shuffle-tasks.js';

const tasks = Array.from(
  { length: 20 },
  (_none, at): Task => ({ taskId: `t${at}`, mainQuery: '', initMessages: [], metadata: {} }),
);
const ids = (list: readonly Task[]): string => list.map(({ taskId }) => taskId).join();

it('the order is a permutation that the seed decides', () => {
  expect(ids(shuffleTasks(tasks, 1))).toBe(ids(shuffleTasks(tasks, 1)));
  expect(ids(shuffleTasks(tasks, 1))).not.toBe(ids(shuffleTasks(tasks, 2)));
  expect([...shuffleTasks(tasks, 1)].map(({ taskId }) => taskId).sort()).toEqual(
    tasks.map(({ taskId }) => taskId).sort(),
  );
});
