import type { CommonConfig, Task, WorkflowOutput } from '@agentjet/core';
import type { JudgeContext } from '@agentjet/rollout';
import { judgeCases } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { createAnswerJudge, type AnswerOptions } from './answer-judge.js';
import { answer } from './registration.js';

const options: AnswerOptions = {
  compare: 'number',
  taskField: 'answer',
  outputField: 'answer',
  agent: null,
  after: null,
  tolerance: 0,
  ignoreCase: true,
};
const taskWith = (expected?: unknown): Task => ({
  taskId: 'a',
  mainQuery: 'How much?',
  initMessages: [],
  metadata: expected === undefined ? {} : { answer: expected },
});
const said = (text: unknown, reward: number) => ({
  task: taskWith('1/2'),
  output: { metadata: { answer: text } } satisfies WorkflowOutput,
  reward,
});
const examples = [said('0.5', 1), said(0.5, 1), said('so \\boxed{1/2}', 1), said('1/3', 0), said('', 0), said(null, 0)];

for (const { name, run } of judgeCases(() => createAnswerJudge(options), examples)) it(name, run);

const speaking = (...turns: readonly (readonly [agentName: string, content: string])[]): JudgeContext => ({
  episodeId: 'e',
  signal: new AbortController().signal,
  seed: 1,
  transcripts: turns.map(([agentName, content]) => ({
    agentName,
    messages: [
      { role: 'user', content: 'How much? \\boxed{0.5}' },
      { role: 'assistant', content },
    ],
  })),
  environment: null,
});
const rewardOf = async (context: JudgeContext, changes: Partial<AnswerOptions> = {}) => {
  const judge = createAnswerJudge({ ...options, ...changes });
  return (await judge.judge(taskWith('1/2'), {}, context)).reward;
};

it('reads the last message if the workflow returns no answer', async () => {
  expect(await rewardOf(speaking(['solver', '0.5']))).toBe(1);
  expect(await rewardOf(speaking(['solver', 'First 3. The answer is 0.5.']))).toBe(1);
  expect(await rewardOf(speaking(['solver', 'First 3, then 0.5']))).toBe(0);
  expect(await rewardOf(speaking(['solver', '<think>0.5']))).toBe(0);
  expect(await rewardOf(speaking())).toBe(0);
});

it('reads the configured agent', async () => {
  const context = speaking(['solver', '0.5'], ['critic', 'Agreed']);
  expect(await rewardOf(context)).toBe(0);
  expect(await rewardOf(context, { agent: 'solver' })).toBe(1);
});

it('accepts any of several right answers', async () => {
  const judge = createAnswerJudge({ ...options, compare: 'text' });
  const right = taskWith(['UK', 'United Kingdom']);
  const ask = async (given: string) => (await judge.judge(right, { metadata: { answer: given } }, speaking())).reward;
  expect([await ask('united kingdom'), await ask('uk'), await ask('France')]).toEqual([1, 1, 0]);
});

it.each([
  [undefined, 'metadata.answer of task "a" is missing'],
  [[], 'is []'],
  [['5', null], 'is ["5",null]'],
  ['many', 'which is not a number'],
])('says that a task whose answer is %j is a mistake', (expected, message) => {
  const judge = createAnswerJudge(options);
  expect(() => judge.judge(taskWith(expected), { metadata: { answer: '5' } }, speaking())).toThrow(message);
});

it('opens with the settings of its section', async () => {
  const section = { ...options, compare: 'choice', outputField: 'said' } as const;
  const judge = await answer.open(section, { config: {} as CommonConfig });
  const output = { metadata: { said: '(C)' } };
  expect(await judge?.judge(taskWith('C'), output, speaking())).toMatchObject({ reward: 1, isSuccess: true });
});
