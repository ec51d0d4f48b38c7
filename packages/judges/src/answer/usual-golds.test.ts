import { expect, it } from 'vitest';
import { isReadableAs, isSameAnswer } from './compare-answers.js';

/** Right answers as data sets of mathematics write them, each with a similar wrong answer. */
const golds: readonly (readonly [gold: string, other: string])[] = [
  [String.raw`\ln 2`, String.raw`\ln 5`],
  [String.raw`e^{2}`, String.raw`e^{3}`],
  [String.raw`e^{-1}`, String.raw`e`],
  [String.raw`2\sqrt{13}`, String.raw`13\sqrt{2}`],
  [String.raw`\frac{\sqrt{3}}{2}`, String.raw`\frac{\sqrt{2}}{3}`],
  [String.raw`\frac{1+\sqrt{5}}{2}`, String.raw`\frac{1-\sqrt{5}}{2}`],
  [String.raw`(3, \frac{\pi}{2})`, String.raw`(3, \pi)`],
  [String.raw`\left(-\infty, 2\right]`, String.raw`\left(-\infty, 2\right)`],
  [String.raw`[-2,7]`, String.raw`(-2,7)`],
  [String.raw`(-2,1)\cup(3,\infty)`, String.raw`(-2,1)\cup[3,\infty)`],
  [String.raw`\left( \frac{3}{5}, \frac{8}{3} \right]`, String.raw`\left[ \frac{3}{5}, \frac{8}{3} \right]`],
  [String.raw`\{1, 3, 5\}`, String.raw`\{1, 3, 6\}`],
  [String.raw`25\%`, String.raw`52\%`],
  [String.raw`\$18.90`, String.raw`\$18.09`],
  [String.raw`10\text{ inches}`, String.raw`11\text{ inches}`],
  [String.raw`145^\circ`, String.raw`154^\circ`],
  [String.raw`6 - 5i`, String.raw`6 + 5i`],
  [String.raw`1 \pm \sqrt{19}`, String.raw`1 + \sqrt{19}`],
  [String.raw`x^3 + 3x - 6`, String.raw`x^3 - 3x + 6`],
  [String.raw`(x+2)(x-5)`, String.raw`(x-2)(x+5)`],
  [String.raw`x \le -2`, String.raw`x \ge -2`],
  [String.raw`3 < x \leq 7`, String.raw`3 \leq x < 7`],
  [String.raw`2516_8`, String.raw`2516_7`],
  [String.raw`\begin{pmatrix} -1 \\ 6 \end{pmatrix}`, String.raw`\begin{pmatrix} 6 \\ -1 \end{pmatrix}`],
  [
    String.raw`\begin{pmatrix} 1/5 & -2/5 \\ -2/5 & 4/5 \end{pmatrix}`,
    String.raw`\begin{pmatrix} 1/5 & 2/5 \\ 2/5 & 4/5 \end{pmatrix}`,
  ],
  [String.raw`\text{even}`, String.raw`\text{odd}`],
  [String.raw`\text{Saturday}`, String.raw`\text{Sunday}`],
  [String.raw`y = -2x + 5`, String.raw`y = 2x + 5`],
  [String.raw`5x - 7y + 11z + 4 = 0`, String.raw`5x - 7y + 11z - 4 = 0`],
  [String.raw`\sqrt[3]{4}`, String.raw`\sqrt[4]{3}`],
  [String.raw`\log_2 3`, String.raw`\log_3 2`],
  [String.raw`\sin 20`, String.raw`\cos 20`],
  [String.raw`\binom{7}{3}`, String.raw`\binom{7}{2}`],
  [String.raw`7!`, String.raw`8!`],
  [String.raw`3\frac{1}{2}`, String.raw`\frac{3}{2}`],
  [String.raw`-\frac{7}{4}`, String.raw`\frac{7}{4}`],
  [String.raw`0.\overline{3}`, String.raw`0.\overline{6}`],
  [String.raw`|x - 3|`, String.raw`|x + 3|`],
  [String.raw`a^2 + b^2`, String.raw`(a + b)^2`],
  [String.raw`n(n+1)/2`, String.raw`n(n-1)/2`],
  [String.raw`\frac{9x^4}{4}`, String.raw`\frac{9x^2}{4}`],
  [String.raw`x_1 + x_2`, String.raw`x_1 - x_2`],
  [String.raw`\sin 2x`, String.raw`x\sin 2`],
  [String.raw`\log_2 3x`, String.raw`x\log_2 3`],
  [String.raw`\cos t + \sin t i`, String.raw`\cos t + \sin(ti)`],
  [String.raw`\sqrt 2 x`, String.raw`\sqrt{2x}`],
  [String.raw`\arctan 2`, String.raw`\tan 2`],
  [String.raw`6\pi \text{ cm}^2`, String.raw`9\pi \text{ cm}^2`],
  [String.raw`1,-2`, String.raw`-1,2`],
  [String.raw`\text{(C)}`, String.raw`\text{(D)}`],
  [String.raw`\emptyset`, String.raw`\{0\}`],
  [String.raw`2k\pi`, String.raw`k\pi`],
  [String.raw`\lfloor x \rfloor`, String.raw`\lceil x \rceil`],
  [String.raw`\infty`, String.raw`-\infty`],
  [String.raw`12{,}345`, String.raw`12.345`],
];

const isSame = (expected: string, given: string) =>
  isSameAnswer('expression', { expected, given }, { tolerance: 0, ignoreCase: true });

it.each(golds)('reads the right answer %s and distinguishes it from %s', (gold, other) => {
  expect(isReadableAs('expression', gold, [gold])).toBe(true);
  expect([isSame(gold, gold), isSame(gold, other), isSame(other, gold)]).toEqual([true, false, false]);
});
