import { expect, it } from 'vitest';
import { differentTexts, tokenizerNames } from './tokenizers.js';

it.each(tokenizerNames)(
  'gives the ids of the Rust library for 5,000 hard texts, with the tokenizer of %s',
  async (name) => {
    expect(await differentTexts(name)).toEqual([]);
  },
);
