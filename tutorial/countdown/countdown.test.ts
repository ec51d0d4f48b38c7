import path from 'node:path';
import { createFileReader } from '@agentjet/data';
import { createCountdownJudge } from '@agentjet/judges';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { play } from './countdown-workflow.js';
import { splitOf, toRows, type Row } from './problems.js';

const judge = createCountdownJudge({
  targetField: 'target',
  numbersField: 'numbers',
  outputField: 'answer',
  agent: null,
  formReward: 0.1,
  useAll: true,
});
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };

const splits = ['training', 'evaluation'] as const;

it('has a solution for every problem, and none in both splits', () => {
  for (const split of splits)
    for (const { numbers, target } of toRows(split)) {
      const [a, b] = numbers;
      expect([a + b, a - b, b - a, a * b, a / b, b / a]).toContain(target);
      expect(splitOf({ numbers, target })).toBe(split);
    }
});

it('has the files that problems.ts has made', async () => {
  const fileOf = (split: string): string => path.join(import.meta.dirname, `data/${split}.parquet`);
  const reader = createFileReader({
    training: fileOf('training'),
    validation: fileOf('evaluation'),
    fields: { main_query: 'question', task_id: 'id' },
    split: { evaluation: 0, by: 'content' },
    allowOverlap: false,
    duplicates: 'keep',
    similarity: 1,
    onNotice: () => undefined,
  });
  for (const [split, tasks] of [
    ['training', reader.trainingTasks()],
    ['evaluation', reader.evaluationTasks()],
  ] as const) {
    const read: Row[] = [];
    for await (const { mainQuery, metadata } of tasks) {
      const { id, numbers, target } = metadata as Row;
      read.push({ id, question: mainQuery, numbers, target });
    }
    expect(read).toEqual(toRows(split));
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
