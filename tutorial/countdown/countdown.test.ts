import { createCountdownJudge } from '@agentjet/judges';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { play } from './countdown-workflow.js';
import { drawTasks, splitOf, type Problem } from './problems.js';

const judge = createCountdownJudge({
  targetField: 'target',
  numbersField: 'numbers',
  outputField: 'answer',
  agent: null,
  formReward: 0.1,
  useAll: true,
});
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };

it('has a solution for every problem, and none in both splits', () => {
  const evaluation = drawTasks('evaluation', { seed: 1, count: 100 });
  for (const task of [...evaluation, ...drawTasks('training', { seed: 1, count: 1024 })]) {
    const { numbers, target } = task.metadata as Problem;
    const [a, b] = numbers;
    expect([a + b, a - b, b - a, a * b, a / b, b / a]).toContain(target);
    expect(splitOf({ numbers, target })).toBe(task.taskId.split('-')[0]);
  }
});

const task = {
  taskId: 'a',
  mainQuery: 'Ann has 7 and 12. How many make 5?',
  initMessages: [],
  metadata: { numbers: [7, 12], target: 5 },
};
const call = (expression: string): string =>
  `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;

it.each([
  ['12-7', 1],
  ['7+12', 0.1],
  ['12-', 0],
])('scores the last thing that the agent computed, %s, with %d', async (expression, reward) => {
  const { tuner } = openScriptedEpisode({ replies: [call('1+1'), call(expression), '5'] });
  expect(await judge.judge(task, await play(task, tuner), context)).toMatchObject({ reward });
});
