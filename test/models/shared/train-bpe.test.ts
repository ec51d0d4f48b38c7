import { createChatTokenizer } from '@agentjet/tokenizer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenizerConfig, createTokenizerJson, wordRegExp } from './tokenizer-files.js';
import { trainBpe } from './train-bpe.js';

const texts = ['the cat and the hat', 'the cat sat: 12 cats, 12 hats'];

describe('byte-pair encoding', () => {
  it('joins the most frequent neighbours first', () => {
    const merges = trainBpe(['aab aab ab'], { pattern: /\w+/g, numMerges: 2 });
    expect(merges).toEqual([
      ['a', 'b'],
      ['a', 'ab'],
    ]);
  });

  it('takes equals in the order of their spelling, so that the order of texts does not matter', () => {
    const options = { pattern: wordRegExp, numMerges: 20 };
    expect(trainBpe(texts.toReversed(), options)).toEqual(trainBpe(texts, options));
  });

  it('stops when no pair occurs twice', () => {
    expect(trainBpe(['abc'], { pattern: /\w+/g, numMerges: 10 })).toEqual([]);
  });

  it('makes a tokenizer that spells as it was trained, numbers in pairs of digits', () => {
    const merges = trainBpe(texts, { pattern: wordRegExp, numMerges: 30 });
    const { tokenizer } = createChatTokenizer({
      tokenizerJson: createTokenizerJson(merges),
      tokenizerConfig: createTokenizerConfig(64),
    });
    const pieces = (text: string) => [...tokenizer.encode(text)].map((id) => tokenizer.decode([id]));
    expect(pieces('the cat')).toEqual(['the', ' cat']);
    expect(pieces('2024 and 7')).toEqual(['20', '24', ' ', 'a', 'n', 'd', ' ', '7']);
    expect(pieces('123')).toEqual(['12', '3']);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text.normalize('NFC')))).toBe(text.normalize('NFC'));
      }),
    );
  });
});
