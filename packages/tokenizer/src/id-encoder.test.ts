import type { JsonObject } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openHfLibrary } from './hf-library.js';
import { createIdEncoder } from './id-encoder.js';
import { createMarkedEncoder } from './marked-encoder.js';
import { normalizeAsRust } from './rust-normal-forms.js';
import { createChatTokenizerFiles } from './testing.js';

const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles('chatml');
const token = (id: number, content: string, more: JsonObject = {}): JsonObject => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: false,
  ...more,
});
const added = [
  token(90_001, 'word', { single_word: true }),
  token(90_002, 'trim', { lstrip: true, rstrip: true }),
  token(90_003, 'lone', { single_word: true, special: true }),
];
const json = { ...tokenizerJson, added_tokens: added };
const encoder = createIdEncoder(openHfLibrary(json, tokenizerConfig));

it.each([
  ['word', [90_001]],
  ['(word)', ['(', 90_001, ')']],
  ['words word', ['words ', 90_001]],
  ['aword éword ٣word _word', ['aword éword ٣word _word']],
  ['word\u0301', ['word\u0301']],
  ['²word', ['²', 90_001]],
  ['wordword', ['wordword']],
  ['a \u0085 trim\u00a0 b', ['a', 90_002, 'b']],
  ['a\uFEFFtrim\uFEFFb', ['a\uFEFF', 90_002, '\uFEFFb']],
])('takes added tokens out of %j', (text, sections) => {
  expect(encoder.split(text)).toEqual(sections);
});

it('keeps to words in text with marks, too', () => {
  const encodeMarked = createMarkedEncoder(encoder, json, tokenizerConfig);
  expect([...encodeMarked('lone', '\uE123')]).toEqual([90_003]);
  expect([...encodeMarked('alone', '\uE123')]).not.toContain(90_003);
  expect([...encodeMarked('lo\uE123ne', '\uE123')]).not.toContain(90_003);
});

it.each([
  ['Digits', { individual_digits: true }, '½²a٣4', ['½', '²', 'a', '٣', '4']],
  ['Digits', { individual_digits: false }, '½²a٣4', ['½²', 'a', '٣4']],
  ['Whitespace', {}, 'é_x\u200D٣\uFEFFb!', ['é_x\u200D٣', '\uFEFF', 'b', '!']],
  ['WhitespaceSplit', {}, 'a\u0085b\uFEFFc', ['a', 'b\uFEFFc']],
])('splits by %s %j as the Rust library does', (type, options, text, pieces) => {
  const preTokenizer = { type, ...options };
  const library = openHfLibrary({ ...tokenizerJson, pre_tokenizer: preTokenizer }, tokenizerConfig);
  expect(library.pre_tokenizer?.(text, { section_index: 0 })).toEqual(pieces);
});

it('leaves marks that came to Unicode late where they are', () => {
  expect(normalizeAsRust('e\u0301a\u0898\u0323', 'NFC')).toBe('\u00e9a\u0898\u0323');
  expect(normalizeAsRust('e\u0301', 'NFC')).toBe('\u00e9');
});
