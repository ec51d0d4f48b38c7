import { expect, it } from 'vitest';
import { LongTexts } from './long-texts.js';

const textOf = (letter: string, length: number): string => letter.repeat(length);

it('encodes a long string once, and encodes it again only if it was not requested recently', () => {
  const encoded: string[] = [];
  const texts = new LongTexts((text) => {
    encoded.push(text[0] ?? '');
    return Int32Array.of(text.length);
  });
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => textOf(letter, 3 * 2 ** 20)) as [string, string, string];
  for (const text of [a, b, a, c, a, b]) expect([...texts.encode(text)]).toEqual([text.length]);
  expect(encoded).toEqual(['a', 'b', 'c', 'b']);
});

it('does not keep a string that is larger than the whole cache', () => {
  let numEncoded = 0;
  const texts = new LongTexts((text) => {
    numEncoded++;
    return Int32Array.of(text.length);
  });
  const huge = textOf('h', 9 * 2 ** 20);
  texts.encode(huge);
  texts.encode(huge);
  expect(numEncoded).toBe(2);
});
