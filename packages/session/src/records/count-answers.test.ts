import { expect, it } from 'vitest';
import { countAnswers } from './count-answers.js';

it('counts the answers of all episodes, and those that the token limit cut', () => {
  const whole = { isTruncated: false };
  const cut = { isTruncated: true };
  expect(countAnswers([{ turns: [whole, cut] }, { turns: [] }, { turns: [cut] }])).toEqual({
    answers: 3,
    answers_cut: 2,
  });
});
