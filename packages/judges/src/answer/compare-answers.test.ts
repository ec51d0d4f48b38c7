import { expect, it } from 'vitest';
import { isSameAnswer } from './compare-answers.js';
import type { Comparison } from '../shared-settings.js';

const options = { tolerance: 0, ignoreCase: true };
const compare = (comparison: Comparison, expected: string, given: string) =>
  isSameAnswer(comparison, { expected, given }, options);

it.each([
  ['0.5', '1/2'],
  ['0.5', '\\frac{1}{2}'],
  ['0.5', '\\dfrac12'],
  ['1234', '1,234'],
  ['1234.5', '$1,234.50'],
  ['-3', '−3'],
  ['-3', '$-3$'],
  ['5/2', '2 1/2'],
  ['1200', '1.2e3'],
  ['1200', '1.2 \\times 10^{3}'],
  ['5', 'x = 5.'],
  ['5', '5 apples'],
  ['5 km', '5'],
  ['5 km', '5 km'],
  ['5 hours', '5 hour'],
  ['50', '50\\%'],
  ['90', '90^\\circ'],
  ['0.1', '.1'],
  ['5', '5 ✅'],
  ['5', '[5]'],
  ['1/3', '0.\\overline{3}'],
  ['-37/30', '-1.2\\overline{3}'],
  ['42', '42元'],
  ['42 cm', '42厘米'],
  ['60°', '$60$ degrees'],
  ['5', '**5** apples'],
  ['5000', 'USD 5,000'],
  ['5000', 'Rs. 5,000'],
  ['100000000000000000001', '100000000000000000001'],
])('the numbers %s and %s are the same', (expected, given) => {
  expect(compare('number', expected, given)).toBe(true);
});

it.each([
  ['0.5', '0.50000001'],
  ['15', '1,5'],
  ['5 km', '5 miles'],
  ['5', '5 or 6'],
  ['5', '5 or six'],
  ['5', ''],
  ['5', 'five'],
  ['100000000000000000001', '100000000000000000002'],
  ['5', '1/0'],
  ['3', '-3'],
  ['5', '--5'],
  ['5', '5 November'],
  ['5', '5 ❌'],
  ['5', '5万'],
  ['5', '5以上'],
  ['5', '5 ではない'],
  ['42 cm', '42米'],
])('the numbers %s and %s are not the same', (expected, given) => {
  expect(compare('number', expected, given)).toBe(false);
});

it('accepts a relative error if a tolerance is set', () => {
  const near = (given: string) => isSameAnswer('number', { expected: '200', given }, { ...options, tolerance: 0.01 });
  expect([near('202'), near('198'), near('202.1')]).toEqual([true, true, false]);
});

it.each([
  ['B', '(B)'],
  ['B', 'B. Paris'],
  ['(b)', '**B**'],
  ['B', 'b'],
])('the choices %s and %s are the same', (expected, given) => {
  expect(compare('choice', expected, given)).toBe(true);
});

it.each(['A', 'Because of Paris', 'A or B', ''])('the choice B is not %j', (given) => {
  expect(compare('choice', 'B', given)).toBe(false);
});

it.each([
  ['(x+1)^2', 'x^2 + 2x + 1'],
  ['\\frac{x}{2}', '0.5x'],
  ['\\sqrt{8}', '2\\sqrt{2}'],
  ['2\\pi r', '2 * pi * r'],
  ['sin(x)^2 + cos(x)^2', '1'],
  ['y = 3x', '3x'],
  ['2^{10}', '1024'],
  ['ab', 'b*a'],
  ['\\frac{\\sqrt{2}}{2}', '\\sin 45^\\circ'],
  ['(-\\infty, -1) \\cup (1, \\infty)', 'x < -1 \\text{ or } x > 1'],
  ['1:2', '1 : 2'],
  ['\\binom{n}{2}', 'n(n-1)/2'],
  ['(n+1)!', '(n+1) n!'],
  ['\\sum_{k=1}^n k', '\\sum_{k=1}^{n} k'],
  ['\\mathbb{R}\\setminus\\{0\\}', '\\mathbb{R} \\setminus \\{0\\}'],
  ['0.\\overline{36}', '4/11'],
  ['\\text{June 20}', 'June 20'],
  ['x = 1, y = 2', '(1, 2)'],
])('the formulas %s and %s are the same', (expected, given) => {
  expect(compare('expression', expected, given)).toBe(true);
});

it.each([
  ['(x+1)^2', 'x^2 + 1'],
  ['x', 'x + 0.0000000001'],
  ['x', 'abs(x)'],
  ['x', 'y'],
  ['x', '(x'],
  ['x', 'process.exit()'],
  ['1', '9^9^9^9'],
  ['1/2', '1\\frac{1}{2}'],
  ['1:2', '2:1'],
  ['\\binom{2n}{n}', '(2n)!/n!'],
  ['n!', 'n'],
  ['0.\\overline{36}', '0.36'],
  ['90^\\circ', '90%'],
  ['10^{-20}', '0'],
  ['1', '('.repeat(5000)],
  ['1', `${'('.repeat(150)}1${')'.repeat(150)}`],
])('the formulas %s and %s are not the same', (expected, given) => {
  expect(compare('expression', expected, given)).toBe(false);
});

it.each([
  ['{1, 2, 3}', '3, 2, 1'],
  ['1,2,3', '1, 2 and 3'],
  ['0.5; x', '{x; 1/2}'],
  ['(1, 2), (3, 4)', '(3, 4), (1, 2)'],
  ['1,200, 3', '3, 1200'],
])('the sets %s and %s are the same', (expected, given) => {
  expect(compare('set', expected, given)).toBe(true);
});

it.each([
  ['1, 2', '1, 2, 3'],
  ['1, 1, 2', '1, 2, 2'],
  ['1, 2', ''],
  ['(1, 2), (3, 4)', '(1, 3), (2, 4)'],
])('the sets %s and %s are not the same', (expected, given) => {
  expect(compare('set', expected, given)).toBe(false);
});

it.each([
  ['The  Eiffel Tower.', 'the eiffel tower', true],
  ['“Paris”', '"Paris"', true],
  ['Paris', 'London', false],
])('the texts %s and %s are compared by their words', (expected, given, isSame) => {
  expect(compare('text', expected, given)).toBe(isSame);
});

it.each([
  ['number', 'many'],
  ['choice', 'the second'],
  ['expression', '2 +'],
  ['set', '{}'],
] as const)('says that the expected %s cannot be read if it is %j', (comparison, expected) => {
  expect(compare(comparison, expected, '1')).toBeNull();
});
