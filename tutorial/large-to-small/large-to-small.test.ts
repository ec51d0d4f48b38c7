import type { AddressInfo } from 'node:net';
import { createRandom, type Task } from '@agentjet/core';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { createProblem } from '../math-agent/problems.js';
import { solve } from './agent.js';
import { openLargeModel } from './large-model.js';
import { solveProblem } from './workflow.js';

const task: Task = {
  taskId: 'a',
  mainQuery: 'Ann has 12 nuts and loses 7. How many nuts are left?',
  initMessages: [],
  metadata: { answer: 5 },
};
const call = (operation: string, a: number, b: number): string =>
  `<tool_call>\n{"name": "compute", "arguments": ${JSON.stringify({ operation, a, b })}}\n</tool_call>`;

async function work(...replies: readonly string[]) {
  const { tuner } = openScriptedEpisode({ replies });
  return solveProblem(task, tuner);
}

it('gives the number of the closing words as its answer', async () => {
  expect(await work(call('subtract', 12, 7), 'The result is 5.')).toEqual({ metadata: { answer: '5' } });
  expect(await work(call('subtract', 12, 7), '5')).toEqual({ metadata: { answer: '' } });
});

it('shows the model what was wrong with a call', async () => {
  expect(await work(call('minus', 12, 7), 'The result is there is no operation "minus".')).toEqual({
    metadata: { answer: '' },
  });
});

/** Sends another seed with each call, as `debug.collect` does. */
function openClient(port: number, seed: number): OpenAI {
  return new OpenAI({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: 'none',
    maxRetries: 0,
    fetch: async (url, init) => {
      const body = (await new Request(url, init ?? {}).json()) as object;
      return fetch(url, { ...init, body: JSON.stringify({ ...body, seed }) });
    },
  });
}

it('solves most problems with the large model, and not all', async () => {
  const server = await openLargeModel(0);
  const { port } = server.address() as AddressInfo;
  const random = createRandom(1);
  const problems = Array.from({ length: 40 }, () => createProblem(random));
  const answers = await Promise.all(problems.map(({ question }, seed) => solve(question, openClient(port, seed))));
  server.close();
  const right = answers.filter((answer, at) => Number(answer) === problems[at]?.answer).length;
  expect(right).toBeGreaterThan(30);
  expect(right).toBeLessThan(40);
});
