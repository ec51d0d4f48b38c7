import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { calculate } from '../math-agent/calculator.js';
import { splitOf } from '../math-agent/generate-data.js';
import { readProblem } from '../math-agent/problems.js';
import { FeedbackJudge } from './feedback-judge.js';
import { type Asked, liveWeek, rate } from './users.js';

const solve = async (question: string): Promise<string> => {
  const { left, operator, right } = readProblem(question);
  return calculate(`${left}${operator}${right}`);
};
const ignore = async (): Promise<void> => undefined;

it('asks new questions each week, none of which is held out, and the same ones for the same seed', async () => {
  const live = (week: number) => liveWeek({ ask: solve, tell: ignore }, { week, people: 10, seed: 1 });
  const [first, second] = [await live(1), await live(2)];
  const questions = [...first, ...second].map(({ question }) => question);
  expect(new Set(questions).size).toBe(60);
  expect(questions.filter((question) => splitOf(question) === 'validation')).toEqual([]);
  expect(new Set(first.map(({ conversation }) => conversation)).size).toBe(10);
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

it('sends what a user says of an answer, by the conversation and the number of the question', async () => {
  const told: Asked[] = [];
  const tell = async (asked: Asked): Promise<void> => void told.push(asked);
  const all = await liveWeek({ ask: async () => '', tell }, { week: 1, people: 3, seed: 1 });
  expect(all.map(({ conversation, number }) => `${conversation}/${number}`).slice(2, 4)).toEqual([
    'week-1-0/3',
    'week-1-1/1',
  ]);
  expect(told).toEqual(all.filter(({ feedback }) => feedback.thumb !== undefined));
  expect(told.length).toBeGreaterThan(0);
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
