import { expect, it } from 'vitest';
import { RecentTexts } from './recent-texts.js';

const textOf = (letter: string, length: number): string => letter.repeat(length);

it('makes each value once, and makes it again only if it was not requested recently', () => {
  const made: string[] = [];
  const texts = new RecentTexts<number>();
  const make = (text: string): number => {
    made.push(text[0] ?? '');
    return text.length;
  };
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => textOf(letter, 3 * 2 ** 20)) as [string, string, string];
  for (const text of [a, b, a, c, a, b]) expect(texts.get(text, make)).toBe(text.length);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

it('does not keep text that is larger than the whole cache', () => {
  let numMade = 0;
  const texts = new RecentTexts<undefined>(8);
  const make = (): undefined => void numMade++;
  for (const text of [textOf('h', 9), textOf('h', 9), 'short', 'short']) texts.get(text, make);
  expect(numMade).toBe(3);
});
