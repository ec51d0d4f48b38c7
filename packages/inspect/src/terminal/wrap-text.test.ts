import fc from 'fast-check';
import { expect, it } from 'vitest';
import { wrapText } from './wrap-text.js';

it('breaks at spaces, keeps line ends, and cuts words that are longer than a line', () => {
  expect(wrapText('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrapText('one\n\ntwo', 8)).toEqual(['one', '', 'two']);
  expect(wrapText('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(wrapText('one two', Infinity)).toEqual(['one two']);
  expect(wrapText('', 8)).toEqual(['']);
});

it('counts wide characters as two columns, and does not cut a letter of several characters', () => {
  expect(wrapText('你好世界', 4)).toEqual(['你好', '世界']);
  expect(wrapText('ééé', 2)).toEqual(['éé', 'é']);
  expect(wrapText('👩‍👩‍👧👩‍👩‍👧', 3)).toEqual(['👩‍👩‍👧', '👩‍👩‍👧']);
});

it('lets no text steer the terminal', () => {
  expect(wrapText('a\u001b[2Jb\u0007', 80)).toEqual(['a␛[2Jb␇']);
});

it('loses nothing but spaces at the ends of lines', () => {
  const property = fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 12 }), (text, width) => {
    const plain = text.replaceAll(/\p{Cc}/gu, '');
    expect(wrapText(plain, width).join('').replaceAll(' ', '')).toBe(plain.replaceAll(' ', ''));
  });
  fc.assert(property);
});
