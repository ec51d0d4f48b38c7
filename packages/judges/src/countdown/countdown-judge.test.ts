import type { CommonConfig, Task } from '@agentjet/core';
import { judgeCases } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { createCountdownJudge } from './countdown-judge.js';
import { countdown } from './registration.js';

const options = {
  targetField: 'target',
  numbersField: 'numbers',
  outputField: 'answer',
  agent: null,
  formReward: 0.1,
  useAll: true,
};
const task: Task = {
  taskId: 'c',
  mainQuery: 'Reach 24.',
  initMessages: [],
  metadata: { target: 24, numbers: [3, 3, 8, 8] },
};
const said = (answer: unknown, reward: number) => ({ task, output: { metadata: { answer } }, reward });
const examples = [
  said('8 / (3 - 8 / 3)', 1),
  said('8/(3-8/3) = 24', 1),
  said('<answer>8 ÷ (3 − 8 ÷ 3)</answer>', 1),
  said('[8] / (3 - 8 / 3)', 1),
  said('8 * 3', 0.1),
  said('8 * 3 * 3 / 3', 0.1),
  said('24', 0.1),
  said('8 + 8 + 8', 0.1),
  said('3 + 3 + 8 + 8', 0.1),
  said('8 / (3 + 3 - 8 + 8 - 3 - 3)', 0.1),
  said('3 - 3 = 8 = 8', 0),
  said('target', 0),
  said('-8 + 3', 0),
  said('8 ^ 3', 0),
  said('8 8', 0),
  said('', 0),
  said(24, 0),
  said('('.repeat(100_000), 0),
  said('globalThis.process.exit(0)', 0),
];

for (const { name, run } of judgeCases(() => createCountdownJudge(options), examples)) it(name, run);

const context = (content: string) => ({
  episodeId: 'e',
  signal: new AbortController().signal,
  seed: 1,
  transcripts: [{ agentName: 'solver', messages: [{ role: 'assistant' as const, content }] }],
  environment: null,
});
const ask = async (content: string, changes = {}) =>
  createCountdownJudge({ ...options, ...changes }).judge(task, {}, context(content));

it('reads a marked answer of the last message, and no other text', async () => {
  expect((await ask('I try. <answer>8 / (3 - 8 / 3)</answer>')).reward).toBe(1);
  expect((await ask('8 / (3 - 8 / 3)')).reward).toBe(0);
});

it('says what is wrong', async () => {
  expect((await ask('\\boxed{8/(3-3)+8}')).reason).toContain('divides by zero');
  expect((await ask('\\boxed{8 * 3}')).reason).toContain('3, 8 was not used');
  expect((await ask('\\boxed{8 * 4}')).reason).toContain('4 is not a number of the task');
});

it('may leave numbers out if use_all is false', async () => {
  expect((await ask('\\boxed{8 * 3}', { useAll: false })).reward).toBe(1);
});

it.each([
  [{ numbers: [1] }, 'metadata.target of task "c" is missing'],
  [{ target: 3, numbers: '1 2' }, 'metadata.numbers of task "c" is "1 2"'],
  [{ target: 3, numbers: [] }, 'metadata.numbers'],
])('says that a task with %j is a mistake', async (metadata, message) => {
  const judge = await countdown.open(options, { config: {} as CommonConfig });
  expect(() => judge?.judge({ ...task, metadata }, {}, context(''))).toThrow(message);
});
