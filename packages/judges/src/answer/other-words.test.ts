import { expect, it } from 'vitest';
import type { Comparison } from '../shared-settings.js';
import { createAnswerJudge } from './answer-judge.js';

async function isPaid(compare: Comparison, gold: string, said: string): Promise<boolean> {
  const source = { taskField: 'answer', outputField: 'answer', agent: null, after: null };
  const judge = createAnswerJudge({ ...source, compare, tolerance: 0, ignoreCase: true });
  const task = { taskId: '1', mainQuery: 'How much?', initMessages: [], metadata: { answer: gold } };
  const transcripts = [{ agentName: 'solver', messages: [{ role: 'assistant', content: said }] }] as const;
  const { signal } = new AbortController();
  const { reward } = await judge.judge(task, {}, { episodeId: '1', signal, seed: 1, transcripts, environment: null });
  return reward === 1;
}

it.each([
  ['number', '5', 'The answer is not 4, it is 5.'],
  ['number', '18', '#### 17, no wait, 18'],
  ['number', '204', '\\boxed{m+n = 204}'],
  ['number', '204', '\\boxed{125+79 = 204}'],
  ['number', '5', 'Answer: She has 5 apples left after giving 3 away.'],
  ['number', '5', 'The answer is five (5).'],
  ['number', '12', 'Answer: #12'],
  ['number', '12', 'The answer is 12\nThe answer is 12.0'],
  ['number', '1000000', 'Answer: 1.000.000'],
  ['number', '2125', 'The total cost is $2,125.'],
  ['number', '5', 'boxed{5}'],
  ['choice', 'B', 'B\n\nExplanation: Option A is wrong.'],
  ['choice', 'B', 'B, because the sun is a star.'],
  ['choice', 'B', 'Among the options, (B) is the correct answer.'],
  ['choice', 'C', 'The answer is not A, it is C.'],
  ['expression', '\\text{(C)}', '\\boxed{\\text{(C) } 12}'],
  ['expression', '1,2', '\\boxed{1}, \\boxed{2}'],
  ['expression', '2\\sqrt{2}', '\\boxed{2\\sqrt2 \\approx 2.83}'],
  ['expression', '11111111100', '\\boxed{11,\\! 111,\\! 111,\\! 100}'],
  ['expression', '(3, \\frac{\\pi}{2})', '\\boxed{3, 90^\\circ}'],
  ['expression', '3x^2 + C', '\\boxed{3x^2 + c}'],
  ['expression', '2:3', '\\boxed{\\frac{2}{3}}'],
  ['number', '12', 'The number of guests who did not reply is $20 - 8 = \\boxed{12}$.'],
  ['number', '43', 'The largest integer that cannot be written so is $\\boxed{43}$.'],
  ['number', '5', 'There is no doubt that the answer is 5.'],
  ['number', '5', '**Answer: 5**\n\nOr, in other words, half of ten.'],
  ['number', '12', 'Answer: 12 = 3 × 4'],
  ['number', '12', 'Answer: 12 more apples'],
  ['number', '4.5', 'Answer: 4.5 J/(mol·K)'],
  ['choice', 'B', '**B**\n\n- A is wrong, as the mass does not change.'],
  ['expression', '3x+2y', 'The answer is $3x + 2y$, which cannot be simplified.'],
  ['expression', '(-\\infty,\\infty)', '\\boxed{\\mathbb{R}}'],
  ['expression', '\\arctan 2', '\\boxed{\\tan^{-1} 2}'],
  ['expression', '2:3', '\\boxed{2 \\text{ to } 3}'],
  ['expression', '\\text{2:30 PM}', '\\boxed{2:30 \\text{ p.m.}}'],
] as const)('pays the %s %s for %j', async (compare, gold, said) => {
  expect(await isPaid(compare, gold, said)).toBe(true);
});

it.each([
  ['number', '4', 'The answer is not 4, it is 5.'],
  ['number', '17', '#### 17, no wait, 18'],
  ['number', '204', '\\boxed{125+80 = 204}'],
  ['number', '5', 'Answer: She has 5 dozen apples.'],
  ['number', '5', 'Answer: She has 5 apples and 6 pears.'],
  ['number', '5', 'Answer: She may have 5 apples.'],
  ['number', '5', 'So, there are 5 apples left.'],
  ['number', '5', 'Answer: She has 5 apples. She buys 3, so she has 8.'],
  ['number', '5', 'Answer: She has 5 apples.\nShe buys 3, so she has 8.'],
  ['number', '5', 'The answer is four (5).'],
  ['number', '5', 'The answer is 5 - 0.5'],
  ['choice', 'B', 'B\nC\nD'],
  ['choice', 'B', 'B\n\nExplanation: C is the right answer.'],
  ['choice', 'A', 'The answer is not A, it is C.'],
  ['expression', '1,2', '\\boxed{1}, \\boxed{3}'],
  ['expression', '2\\sqrt{2}', '\\boxed{2.83 \\approx 2\\sqrt2}'],
  ['expression', '5', '\\boxed{5 \\approx 6}'],
  ['expression', '90^\\circ', '\\boxed{90\\pi}'],
  ['expression', '2:3', '\\boxed{\\frac{3}{2}}'],
  ['number', '12', 'The number of guests who did not reply is not $\\boxed{12}$.'],
  ['number', '12', 'I doubt that the number of guests who came is $\\boxed{12}$.'],
  ['number', '12', 'Maybe the number of guests who came is $\\boxed{12}$.'],
  ['number', '12', 'The number of socks that a naive student would count is $\\boxed{12}$.'],
  ['number', '12', 'There is no way that the answer is $\\boxed{12}$.'],
  ['number', '12', 'If I had to guess, the answer is 12.'],
  ['number', '12', 'The answer is 12. However, I find 13.'],
  ['number', '12', 'Answer: 12 = 3 × 5'],
  ['number', '12', 'First part: \\boxed{3}\n\nSecond part: \\boxed{12}'],
  ['number', '12', 'Answer: 12 more than Tom'],
  ['expression', 'R', '\\boxed{\\mathbb{R}}'],
  ['expression', '[2,3]', '\\boxed{2 \\text{ to } 3}'],
] as const)('does not pay the %s %s for %j', async (compare, gold, said) => {
  expect(await isPaid(compare, gold, said)).toBe(false);
});
