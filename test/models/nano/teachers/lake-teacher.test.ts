import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import type { Direction } from '#tutorial/frozen-lake/frozen-lake.js';
import { lakeTeacher } from './lake-teacher.js';

const say = (role: string, text: string): string => `<|im_start|>${role}\n${text}<|im_end|>\n`;

/** Counts how often the teacher takes each direction in 2,000 draws, after it has walked right. */
function countAnswers(lake: readonly string[]): Readonly<Record<Direction, number>> {
  const prompt = `${say('user', 'up: ice')}${say('assistant', 'right')}${say('user', lake.join('\n'))}<|im_start|>assistant\n`;
  const random = createRandom(1);
  const answers = Array.from({ length: 2000 }, () => lakeTeacher(prompt, random));
  const count = (direction: Direction): number => answers.filter((answer) => answer === direction).length;
  return { up: count('up'), down: count('down'), left: count('left'), right: count('right') };
}

it('walks straight on rather than closer to the goal, but knows where that is, and hardly ever turns back', () => {
  const { up, down, left, right } = countAnswers(['up: ice', 'down: ice, closer', 'left: ice', 'right: edge']);
  expect(right).toBeGreaterThan(down);
  expect(down).toBeGreaterThan(1.3 * up);
  expect(up).toBeGreaterThan(4 * left);
});

it('walks neither straight nor elsewhere into a hole, if there is ice', () => {
  const { up, down, left, right } = countAnswers(['up: ice', 'down: hole, closer', 'left: ice, closer', 'right: hole']);
  expect(up).toBeGreaterThan(1700);
  expect(Math.max(down, left, right)).toBeLessThan(100);
});
