import { expect, it } from 'vitest';
import { countAnswers, countMalformedCalls } from './count-answers.js';

it('counts the answers of all episodes, and those that the token limit cut', () => {
  const whole = { isTruncated: false };
  const cut = { isTruncated: true };
  expect(countAnswers([{ turns: [whole, cut] }, { turns: [] }, { turns: [cut] }])).toEqual({
    answers: 3,
    answers_cut: 2,
  });
});

it('counts tool calls that were not read, and says nothing if there are none', () => {
  const episodes = [2, 0, 1].map((malformedToolCalls) => ({ calls: { malformedToolCalls } }));
  expect(countMalformedCalls(episodes)).toEqual({ malformed_tool_calls: 3 });
  expect(countMalformedCalls(episodes.slice(1, 2))).toEqual({});
});
