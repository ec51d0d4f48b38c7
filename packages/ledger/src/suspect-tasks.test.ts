import { expect, it } from 'vitest';
import { SuspectTasks } from './suspect-tasks.js';

it('suspects a task that is lost in three places while other tasks finish', () => {
  const tasks = new SuspectTasks();
  tasks.lost('bad', '0');
  tasks.lost('bad', '0');
  for (let i = 0; i < 3; i++) tasks.kept('good');
  expect(tasks.lost('bad', '1')).toBe(false);
  expect(tasks.lost('bad', '2')).toBe(true);
  expect(tasks.list()).toEqual(['bad']);
});

it('suspects no task while attempts of other tasks are also lost', () => {
  const tasks = new SuspectTasks();
  for (const place of ['0', '1', '2', '3']) {
    tasks.kept('good');
    expect([tasks.lost('bad', place), tasks.lost('other', place)]).toEqual([false, false]);
  }
});

it('clears a task as soon as one of its attempts finishes', () => {
  const tasks = new SuspectTasks();
  for (const place of ['0', '1']) tasks.lost('bad', place);
  for (let i = 0; i < 9; i++) tasks.kept('good');
  expect(tasks.lost('bad', '2')).toBe(true);
  tasks.kept('bad');
  expect(tasks.list()).toEqual([]);
  expect(tasks.lost('bad', '2')).toBe(false);
});
