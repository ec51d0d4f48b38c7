import { expect, it } from 'vitest';
import { normalizedText } from './text-hash.js';

const normalized = (mainQuery: string): string => normalizedText({ mainQuery, initMessages: [] });

it('takes away case and white space, and nothing else', () => {
  expect(normalized(' What\tis  2 + 3?\n')).toBe('what is 2 + 3?');
  expect(normalized('-5 - 05')).toBe('-5 - 05');
});

it('reads characters that mean the same as the same', () => {
  expect(normalized('\u00a0ＡＢＣ\u3000é')).toBe(normalized('abc e\u0301'));
  expect(normalized('ÉTÉ\u2028fini')).toBe('été fini');
});

it('gives the same form whether or not the shortcut applies', () => {
  const letters = [
    'a',
    'B',
    ' ',
    '  ',
    '\t',
    '\n',
    '\v',
    '\0',
    '\u007f',
    '\u0080',
    '\u00a0',
    '\ufeff',
    'İ',
    'ﬁ',
    '\ud800',
  ];
  for (const one of letters)
    for (const two of letters)
      for (const three of letters) {
        const text = one + two + three;
        expect(normalized(text)).toBe(text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim());
      }
});
