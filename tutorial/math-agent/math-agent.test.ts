import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { AnswerJudge } from './answer-judge.js';
import { calculate } from './calculator.js';
import { drawTasks, splitOf, toJsonl } from './generate-data.js';
import { createProblem, readProblem } from './problems.js';
import { runCode } from './code-tool.js';
import { callCalculator as call, problem as task } from './scripted-problem.js';
import { solveProblem as solveWithAnthropic } from './workflows/anthropic.js';
import { solveProblem as solveWithAiSdk } from './workflows/ai-sdk.js';
import { solveProblem as solveWithCodeTool } from './workflows/code-tool.js';
import { solveProblem as solveWithGoogle } from './workflows/google.js';
import { solveProblem as solveWithLangGraph } from './workflows/langgraph.js';
import { solveProblem as solveWithOpenAI } from './workflows/openai.js';
import { solveProblem as solveWithOpenAIAgents } from './workflows/openai-agents.js';
import { solveProblem as solveWithReact } from './workflows/react.js';

function readData(split: 'training' | 'validation'): string {
  return readFileSync(path.join(import.meta.dirname, 'data', `${split}.jsonl`), 'utf8');
}

describe('the calculator', () => {
  it.each([
    ['12+7', '19'],
    ['12 - 7', '5'],
    ['12*7', '84'],
    [' 84/7 ', '12'],
    ['7/3', '2.33'],
    ['1/0', 'Infinity'],
  ])('%s is %s', (expression, result) => {
    expect(calculate(expression)).toBe(result);
  });

  it.each(['', '12', '1+2+3', 'two+three', '2**3', '-1+2'])('says that it cannot read %j', (expression) => {
    expect(calculate(expression)).toBe(`cannot read "${expression}"`);
  });
});

describe('the code tool', () => {
  it.each([
    ['12+7', '19'],
    ['84/7', '12'],
    ['7/3', '2.33'],
    ['let sum = 0; for (let i = 1; i <= 10; i++) sum += i; sum', '55'],
    ['print("a"); "b"', 'a\n"b"'],
    ['1 +', expect.stringContaining('SyntaxError')],
    ['process.exit(1)', expect.stringContaining('process')],
    ['require("fs")', expect.stringContaining('require')],
    ['for (;;) {}', 'stopped: the code reached its limit of time'],
    ['fetch("http://127.0.0.1")', expect.stringContaining('fetch')],
  ])('answers %s', async (code, answer) => {
    expect(await runCode(code)).toEqual(answer);
  });
});

describe('the problems', () => {
  it('have the answer that their operation gives', () => {
    const random = createRandom(3);
    for (let index = 0; index < 200; index++) {
      const { question, answer, left, operator, right } = createProblem(random);
      expect(calculate(`${left}${operator}${right}`)).toBe(String(answer));
      const read = readProblem(question);
      expect(calculate(`${read.left}${read.operator}${read.right}`)).toBe(String(answer));
    }
  });

  it('are what the generator writes', () => {
    expect(readData('training')).toBe(toJsonl('training'));
    expect(readData('validation')).toBe(toJsonl('validation'));
  });

  it('share no question between training and validation, for any seed', () => {
    const validation = new Set(drawTasks('validation', { seed: 1, count: 100 }).map(({ mainQuery }) => mainQuery));
    for (const { mainQuery } of [
      ...drawTasks('training', { seed: 1, count: 1024 }),
      ...drawTasks('training', { seed: 99, count: 500 }),
    ]) {
      expect(splitOf(mainQuery)).toBe('training');
      expect(validation.has(mainQuery)).toBe(false);
    }
  });
});

describe.each([
  ['LangGraph', solveWithLangGraph],
  ['ReAct', solveWithReact],
  ['OpenAI', solveWithOpenAI],
  ['Anthropic', solveWithAnthropic],
  ['Google Gen AI', solveWithGoogle],
  ['AI SDK', solveWithAiSdk],
  ['OpenAI Agents', solveWithOpenAIAgents],
  ['ReAct, with code in a sandbox', solveWithCodeTool],
] as const)('the agent in %s', (_framework, solveProblem) => {
  async function judge(...replies: readonly string[]) {
    const { tuner } = openScriptedEpisode({ replies });
    return new AnswerJudge().judge(task, await solveProblem(task, tuner));
  }

  it('is right when it calculates and says the result', async () => {
    expect(await judge(call('12-7'), '5')).toEqual({ reward: 1, isSuccess: true });
  });

  it.each([
    ['the wrong operation', [call('12+7'), '19']],
    ['no number', [call('12-7'), 'five']],
    ['a broken call', ['<tool_call>\n{"name": "calc']],
  ])('is wrong with %s', async (_, replies) => {
    expect(await judge(...replies)).toEqual({ reward: 0, isSuccess: false });
  });

  it('gives up after four calls', async () => {
    const { tuner, engine } = openScriptedEpisode({ replies: Array.from({ length: 9 }, () => call('1+1')) });
    const answered = await Promise.allSettled([solveProblem(task, tuner)]);
    expect(answered).toHaveLength(1);
    expect(engine.requests).toHaveLength(4);
  });
});
