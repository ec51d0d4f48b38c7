import { expect, it } from 'vitest';
import { findMarked, lastBoxed, withoutThoughts } from './find-answer.js';

const find = (text: string, after: string | null = null) => findMarked(text, { after });

it.each([
  ['It is \\boxed{5}, no, \\boxed{\\frac{1}{2}}.', '\\frac{1}{2}'],
  ['<answer>3</answer> wait <answer>\n4\n</answer>', '4'],
  ['Reason.\n#### 42\n', '42'],
  ['So the answer is **Paris**', 'Paris**'],
  ['Answer: 7', '7'],
  ['<think>\\boxed{1}</think>\\boxed{2}', '2'],
])('finds the last marked answer of %j', (text, answer) => {
  expect(find(text)).toBe(answer);
});

it.each(['', 'no mark', '\\boxed{open', '<answer>never closed', '####'])('finds none in %j', (text) => {
  expect(find(text)).toBeNull();
});

it('reads after the mark that it is told, and nothing else', () => {
  expect(find('\\boxed{1}\nResult => 9 apples\nmore', 'Result =>')).toBe('9 apples');
  expect(find('\\boxed{1}', 'Result =>')).toBeNull();
});

it.each([
  ['<think>a</think>b', 'b'],
  ['a</think>b', 'b'],
  ['x<think>never closed', 'x'],
  ['x<think>1</think>y<think>2</think>z', 'xyz'],
  ['<THINK>a</THINK>b', 'b'],
])('takes the thoughts out of %j', (text, rest) => {
  expect(withoutThoughts(text)).toBe(rest);
});

it('balances braces, escaped ones aside', () => {
  expect(lastBoxed('\\boxed{\\{1, {2}\\}}')).toBe('\\{1, {2}\\}');
});
