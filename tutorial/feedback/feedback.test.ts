import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { calculate } from '../math-agent/calculator.js';
import { splitOf } from '../math-agent/generate-data.js';
import { readProblem } from '../math-agent/problems.js';
import { FeedbackJudge } from './feedback-judge.js';
import { liveWeek, rate } from './users.js';

const solve = async (question: string): Promise<string> => {
  const { left, operator, right } = readProblem(question);
  return calculate(`${left}${operator}${right}`);
};

it('asks new questions each week, none of which is held out, and the same ones for the same seed', async () => {
  const live = (week: number) => liveWeek(solve, { week, people: 10, seed: 1 });
  const [first, second] = [await live(1), await live(2)];
  const questions = [...first, ...second].map(({ question }) => question);
  expect(new Set(questions).size).toBe(60);
  expect(questions.filter((question) => splitOf(question) === 'validation')).toEqual([]);
  expect(new Set(first.map(({ conversation_id: person }) => person)).size).toBe(10);
  expect(await live(2)).toEqual(second);
});

it('rates some answers, mostly as they are, and corrects some wrong ones', () => {
  const random = createRandom(1);
  const ratings = (answer: string) => Array.from({ length: 1000 }, () => rate(answer, 5, random));
  const count = (all: ReturnType<typeof ratings>, is: (rating: ReturnType<typeof rate>) => boolean) =>
    all.filter(is).length;
  for (const [answer, thumb] of [
    ['5', 'up'],
    ['7', 'down'],
    ['', 'down'],
  ] as const) {
    const all = ratings(answer);
    expect(count(all, (rating) => rating.thumb === undefined)).toBeGreaterThan(300);
    expect(count(all, (rating) => rating.thumb === thumb)).toBeGreaterThan(500);
    expect(count(all, (rating) => rating.thumb !== undefined && rating.thumb !== thumb)).toBeLessThan(50);
    const corrections = all.flatMap(({ correction }) => correction ?? []);
    expect(corrections.length > 200).toBe(answer !== '5');
    expect(new Set(corrections).size).toBeLessThanOrEqual(1);
  }
});

it('logs that the agent knew nothing', async () => {
  const [logged] = await liveWeek(async () => '', { week: 1, people: 1, seed: 1 });
  expect(logged).toMatchObject({ id: 'week-1-0-0', conversation_id: 'week-1-0', answer: 'I do not know.' });
});

it.each([
  ['the correction', { answer: '5', given_answer: '7', is_good: false }, '5', 1],
  ['the answer with a thumb up', { given_answer: '5', is_good: true }, '5.0', 1],
  ['a correction before a thumb', { answer: '5', given_answer: '7', is_good: true }, '7', 0],
  ['a held-out number', { answer: 5 }, '5', 1],
  ['no answer', { answer: '5' }, '', 0],
])('compares with %s', (_, metadata, answer, reward) => {
  const task = { taskId: 't', mainQuery: '2 + 3?', initMessages: [], metadata };
  expect(new FeedbackJudge().judge(task, { metadata: { answer } })).toEqual({ reward, isSuccess: reward === 1 });
});

it('refuses to judge what nobody knows', () => {
  const task = { taskId: 't', mainQuery: '', initMessages: [], metadata: { given_answer: '7', is_good: false } };
  expect(() => new FeedbackJudge().judge(task, {})).toThrow('Nobody said what is right for task "t"');
});
