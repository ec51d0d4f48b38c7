import type { Task } from '@agentjet/core';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { solveTogether } from './two-models-workflow.js';

const task: Task = {
  taskId: 'a',
  mainQuery: 'Ann has 12 nuts and loses 7. How many nuts are left?',
  initMessages: [],
  metadata: { answer: 5 },
};
const call = (expression: string): string =>
  `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;

const work = (...replies: readonly string[]) => solveTogether(task, openScriptedEpisode({ replies }).tuner);

it('pays both for the right plan and the right result', async () => {
  expect(await work(call('12-7'), call('12-7'), '5')).toMatchObject({
    isSuccess: true,
    rewards: { planner: 1, worker: 1 },
    metadata: { expression: '12-7', answer: '5' },
  });
});

it('pays the worker for what it was asked, right or wrong, and the planner for the plan alone', async () => {
  expect(await work(call('12+7'), call('12+7'), '19')).toMatchObject({
    isSuccess: false,
    rewards: { planner: 0, worker: 1 },
  });
  expect(await work(call('12-7'), call('12+7'), '19')).toMatchObject({
    isSuccess: false,
    rewards: { planner: 1, worker: 0 },
  });
});

it('asks no worker if there is no plan', async () => {
  expect(await work('5')).toMatchObject({ isSuccess: false, rewards: { planner: 0, worker: 0 } });
});
