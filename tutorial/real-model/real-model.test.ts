import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { AnswerJudge } from '../math-agent/answer-judge.js';
import { problem } from '../math-agent/scripted-problem.js';
import { maxCalls } from './agent.js';
import { solveProblem } from './workflow.js';

async function play(...replies: readonly string[]) {
  const { tuner, engine } = openScriptedEpisode({ replies });
  return { verdict: new AnswerJudge().judge(problem, await solveProblem(problem, tuner)), engine };
}

it('computes what the model writes after CALC, and takes the number after ANSWER', async () => {
  const { verdict, engine } = await play('CALC 12 - 7', 'ANSWER 5');
  expect(verdict).toEqual({ reward: 1, isSuccess: true });
  expect(engine.requests[1]?.text).toContain('RESULT 5');
});

it('shows the model a solved problem of each operation', async () => {
  const { engine } = await play('ANSWER 5');
  for (const line of ['CALC 14 + 6', 'RESULT 8', 'ANSWER 28', 'CALC 31 - 8'])
    expect(engine.requests[0]?.text).toContain(line);
});

it.each([
  ['the wrong operation', ['CALC 12 + 7', 'ANSWER 19']],
  ['a sentence', ['Five nuts are left.']],
  ['an expression that nobody can compute', ['CALC twelve - 7', 'ANSWER twelve']],
])('is wrong with %s', async (_what, replies) => {
  expect((await play(...replies)).verdict).toEqual({ reward: 0, isSuccess: false });
});

it('gives up after three calls', async () => {
  const { verdict, engine } = await play('CALC 1 + 1');
  expect(engine.requests).toHaveLength(maxCalls);
  expect(verdict.isSuccess).toBe(false);
});
