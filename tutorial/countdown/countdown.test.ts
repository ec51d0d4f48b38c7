import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createFileReader } from '@agentjet/data';
import { createCountdownJudge } from '@agentjet/judges';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { calculate, systemPrompt } from '../math-agent/calculator.js';
import { play } from './countdown-workflow.js';
import { openLargeModel } from './large-model.js';
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

it('shows the model whether a result is the target', async () => {
  const { tuner, engine } = openScriptedEpisode({ replies: [call('7+12'), call('12-7'), '5'] });
  await play(task, tuner);
  const told = engine.requests.at(-1)?.text.match(/(?<=<tool_response>\n).*(?=\n<\/tool_response>)/g);
  expect(told).toEqual(['19, not 5', '5']);
});

it('is played by a large model that tries, never the same twice', async () => {
  const server = await openLargeModel(0);
  const { port } = server.address() as AddressInfo;
  const ask = async (messages: readonly object[], seed: number) => {
    const request = { method: 'POST', body: JSON.stringify({ messages, seed }) };
    const answered = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, request);
    type Said = {
      readonly content: string;
      readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
    };
    const { choices } = (await answered.json()) as { readonly choices: readonly [{ readonly message: Said }] };
    return choices[0].message;
  };
  const asked = { role: 'user', content: task.mainQuery };
  const after = (...tried: readonly string[]) => [
    asked,
    ...tried.flatMap((expression) => [
      { role: 'assistant', content: '', tool_calls: [{ function: { arguments: JSON.stringify({ expression }) } }] },
      { role: 'tool', content: '0, not 5' },
    ]),
  ];
  const seeds = Array.from({ length: 40 }, (_, seed) => seed);
  const first = await Promise.all(
    seeds.map(async (seed) => (await ask([asked], seed)).tool_calls?.[0]?.function.arguments),
  );
  expect(new Set(first)).toEqual(new Set(['+', '-', '*', '/'].map((operator) => `{"expression":"12${operator}7"}`)));
  const next = await Promise.all(seeds.map((seed) => ask(after('12+7', '12*7', '12/7'), seed)));
  for (const { content, tool_calls: calls } of next)
    expect(calls?.[0]?.function.arguments ?? content).toMatch(/^(\{"expression":"12-7"\}|0, not 5)$/);
  expect(await ask([...after('12-7').slice(0, -1), { role: 'tool', content: '5' }], 1)).toEqual({
    role: 'assistant',
    content: '5',
  });
  server.close();
});

type Line = {
  readonly reward: number;
  readonly is_success: boolean;
  readonly task: { readonly main_query: string; readonly metadata: { readonly id: string; readonly target: number } };
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
    readonly tool_calls?: readonly [{ readonly function: { readonly arguments: string } }];
  }[];
};

it('has transcripts of this agent on training problems alone, as the judge scored them', async () => {
  const text = await readFile(path.join(import.meta.dirname, 'transcripts.jsonl'), 'utf8');
  const training = new Map(toRows('training').map((row) => [row.id, row.question]));
  const lines = text
    .trim()
    .split('\n')
    .map((row) => JSON.parse(row) as Line);
  for (const { reward, is_success: isSuccess, task: played, messages } of lines) {
    expect(training.get(played.metadata.id)).toBe(played.main_query);
    expect(messages[0]?.content).toBe(systemPrompt);
    const calls = messages.flatMap(({ tool_calls: made = [] }) => made.map((one) => one.function.arguments));
    const values = calls.map((written) => calculate((JSON.parse(written) as { expression: string }).expression));
    const target = String(played.metadata.target);
    const shown = values.map((value) => (value === target ? value : `${value}, not ${target}`));
    const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(told).toEqual(messages.at(-1)?.tool_calls === undefined ? shown : shown.slice(0, -1));
    expect([reward === 1, isSuccess]).toEqual([values.at(-1) === target, values.at(-1) === target]);
  }
});
