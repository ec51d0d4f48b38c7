import { expect, it } from 'vitest';
import { judgeLearning } from './judge-learning.js';

/** `pattern` has a letter per task: + is solved, - is not. */
const outcomes = (pattern: string): Record<string, boolean> =>
  Object.fromEntries([...pattern].map((letter, index) => [`task-${index}`, letter === '+']));

it('takes seven tasks gained and none lost for learning, and six for chance', () => {
  const seven = judgeLearning(outcomes('-'.repeat(10)), outcomes('+++++++---'));
  expect(seven).toMatchObject({ learned: true, tasks: 10, solvedBefore: 0, solvedAfter: 7 });
  expect(seven.probabilityByChance).toBeCloseTo(1 / 128, 12);
  expect(judgeLearning(outcomes('-'.repeat(10)), outcomes('++++++----')).learned).toBe(false);
});

it('weighs what was lost against what was gained', () => {
  const swapped = judgeLearning(outcomes('+++++++-------'), outcomes('-------+++++++'));
  expect(swapped.learned).toBe(false);
  expect(swapped.probabilityByChance).toBeGreaterThan(0.5);
  expect(judgeLearning(outcomes('+++++++'), outcomes('-------')).probabilityByChance).toBeCloseTo(1, 12);
});

it('sees no learning if nothing changed', () => {
  expect(judgeLearning(outcomes('++--'), outcomes('++--'))).toMatchObject({ learned: false, probabilityByChance: 1 });
});

it('refuses evaluations of different tasks', () => {
  expect(() => judgeLearning(outcomes('+-'), outcomes('+'))).toThrow('different tasks: 2 and 1');
  expect(() => judgeLearning({}, {})).toThrow('different tasks');
});
