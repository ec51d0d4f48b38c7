import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openHfLibrary } from './hf-library.js';
import { createIdEncoder } from './id-encoder.js';
import { createChatTokenizerFiles } from './testing.js';
import { createWordEncoder } from './word-encoder.js';

const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles('chatml');
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
const gpt2Json = { ...tokenizerJson, normalizer: null, pre_tokenizer: byteLevel };

const hardText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '<|im_end|>',
        '<|im_start|',
        '\uFEFF',
        '👩‍👩‍👧',
        'e\u0301',
        "I'll",
        "'LL",
        ' the',
        'hello',
        '\r\n',
        ' \n ',
        '  ',
        '\u0085',
        '123',
        'a'.repeat(70),
      ),
    ),
  )
  .map((parts) => parts.join(''));

describe('the word encoder', () => {
  it.each([
    ['of Qwen', tokenizerJson],
    ['of GPT-2', gpt2Json],
  ])('gives the ids of whole texts, with the pattern %s', (_, json) => {
    const whole = createIdEncoder(openHfLibrary(json, tokenizerConfig));
    const encode = createWordEncoder(openHfLibrary(json, tokenizerConfig), json);
    if (encode === undefined) throw new Error('expected an encoder');
    fc.assert(
      fc.property(hardText, (text) => {
        expect([...encode(text)]).toEqual(whole.encode(text));
      }),
      { numRuns: 500 },
    );
  });

  it('gives the same ids for a long text between special tokens, each time', () => {
    const whole = createIdEncoder(openHfLibrary(tokenizerJson, tokenizerConfig));
    const encode = createWordEncoder(openHfLibrary(tokenizerJson, tokenizerConfig), tokenizerJson);
    if (encode === undefined) throw new Error('expected an encoder');
    const long = "I'll go up. \r\n ".repeat(500);
    const prompts = ['hello', ' the'].map((asked) => `<|im_start|>system\n${long}<|im_end|>\n<|im_start|>${asked}`);
    for (const text of [...prompts, ...prompts, long]) expect([...encode(text)]).toEqual(whole.encode(text));
  });

  it.each([
    ['another normalizer', { normalizer: { type: 'Lowercase' } }],
    ['a prefix space', { pre_tokenizer: { ...byteLevel, add_prefix_space: true } }],
    ['no pattern', { pre_tokenizer: { ...byteLevel, use_regex: false } }],
    ['other pieces', { pre_tokenizer: { type: 'Metaspace' } }],
    [
      'an added token that takes the space next to it',
      { added_tokens: [{ id: 3, content: '<x>', lstrip: true, normalized: false, special: true }] },
    ],
    [
      'an added token that is looked for in normalized text',
      { added_tokens: [{ id: 3, content: '<x>', normalized: true, special: false }] },
    ],
  ])('leaves %s to the library', (_, changes) => {
    const json = { ...tokenizerJson, ...changes };
    expect(createWordEncoder(openHfLibrary(json, tokenizerConfig), json)).toBeUndefined();
  });
});
