import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { AnswerJudge } from '../math-agent/answer-judge.js';
import { callCalculator, problem } from '../math-agent/scripted-problem.js';
import { maxCalls } from './agent.js';
import { solveProblem } from './workflow.js';

async function play(...replies: readonly string[]) {
  const { tuner, engine } = openScriptedEpisode({ replies });
  return { verdict: new AnswerJudge().judge(problem, await solveProblem(problem, tuner)), engine };
}

it('runs the calculator that the model calls', async () => {
  const { verdict, engine } = await play(callCalculator('12 - 7'), '5');
  expect(verdict).toEqual({ reward: 1, isSuccess: true });
  expect(engine.requests[1]?.text).toMatch(/"12 - 7"[^]*<tool_response>\n5\n/);
});

it('shows the model solved problems with real calls', async () => {
  const { engine } = await play('5');
  expect(engine.requests[0]?.text).toMatch(/How many carrots are in a pile\?[^]*"expression": ?"24 \/ 3"[^]*\n8\n/);
});

it('is wrong if the model answers in words, and gives up after three calls', async () => {
  expect((await play('Five nuts are left.')).verdict.isSuccess).toBe(false);
  const { tuner, engine } = openScriptedEpisode({ replies: [callCalculator('1 + 1')] });
  await expect(solveProblem(problem, tuner)).rejects.toThrow(/[Rr]ecursion/);
  expect(engine.requests).toHaveLength(maxCalls);
});

it('trains the longest conversation that the model can have', () => {
  const text = readFileSync(path.join(import.meta.dirname, 'real_tools.yaml'), 'utf8');
  const { data, rollout } = (parse(text) as { ajet: Record<string, Record<string, number>> }).ajet;
  expect(Number(data?.['max_prompt_length']) + Number(data?.['max_response_length'])).toBe(rollout?.['max_model_len']);
});
