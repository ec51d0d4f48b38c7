import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { callCalculator as call, problem as task } from '../math-agent/scripted-problem.js';
import { solveTogether } from './two-models-workflow.js';

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

it.each([
  ['12+7', 'Ann has 12 apples and finds 7 more. How many apples are there now?'],
  ['12-7', 'Ann has 12 apples and loses 7. How many apples are left?'],
  ['12*7', 'Ann fills 12 bags with 7 apples each. How many apples in the bags?'],
  ['12 / 7', 'Ann shares 12 apples among 7 friends. How many apples for each friend?'],
  ['twelve', 'What is twelve?'],
])('asks the worker for %s in words', async (expression, job) => {
  const { tuner, engine } = openScriptedEpisode({ replies: [call(expression), '5'] });
  await solveTogether(task, tuner);
  expect(engine.requests.at(-1)?.text).toContain(job);
});
