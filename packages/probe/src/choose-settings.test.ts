import { expect, it } from 'vitest';
import { chooseSettings } from './choose-settings.js';
import type { GroupRules, ProbedTask } from './outcomes.js';

const rules: GroupRules = { dropsFailed: false, minShare: 0.5, trainedIfEqual: new Set() };
const current = { temperature: 1, numRepeat: 8 };

/** Twelve tasks with 16 episodes each. `successes` has the number of successful episodes of each task. */
const tasks = (...successes: readonly number[]): readonly ProbedTask[] =>
  Array.from({ length: 12 }, (_, index) => ({
    taskId: `t${index}`,
    outcomes: Array.from({ length: 16 }, (_none, episode) => {
      const isSuccess = episode < (successes[index % successes.length] ?? 0);
      return { value: isSuccess ? '1' : '0', isSuccess };
    }),
    answers: 16,
    cutAnswers: 0,
    unreadCalls: 0,
  }));

const choose = (at1: readonly number[], at07: readonly number[], given = current) =>
  chooseSettings(
    [
      { temperature: 1, tasks: tasks(...at1) },
      { temperature: 0.7, tasks: tasks(...at07) },
    ],
    { current: given, rules },
  );

it('keeps settings with which enough groups train', () => {
  expect(choose([4, 8], [4, 8])).toEqual(current);
  expect(choose([4, 8, 2], [5, 7, 2])).toEqual(current);
});

it('lowers a temperature at which a small model has no success', () => {
  expect(choose([0, 0, 1], [2, 3, 4])).toEqual({ temperature: 0.7, numRepeat: 8 });
});

it('takes larger groups if too few train, as large as needed', () => {
  expect(choose([1], [1], { temperature: 1, numRepeat: 4 })).toEqual({ temperature: 1, numRepeat: 8 });
  expect(choose([1, 0, 0], [1, 0, 0], { temperature: 1, numRepeat: 8 }).numRepeat).toBe(16);
});

it('does not suggest larger groups if they would not help, nor smaller ones', () => {
  expect(choose([0], [0])).toEqual(current);
  expect(choose([0, 0, 0, 8], [0, 0, 0, 8])).toEqual(current);
  expect(choose([8], [8], { temperature: 1, numRepeat: 32 }).numRepeat).toBe(32);
});
