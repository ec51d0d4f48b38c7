import type { JsonObject } from '@agentjet/core';
import { expect, test } from 'vitest';
import { checkAddedTokens } from './check-added-tokens.js';

const added = (special: boolean) => ({ added_tokens: [{ id: 61, content: '<call>', special }] });
const check = (tokenizerJson: JsonObject, config: JsonObject, template = ''): void => {
  checkAddedTokens(tokenizerJson, { config, template, file: 'tokenizer.json' });
};

test('a token that text becomes and that has no embedding is refused with its id and the repair', () => {
  expect(() => {
    check(added(false), { vocab_size: 61 });
  }).toThrow(/"<call>" with id 61, .* below 61 .*resize_token_embeddings/);
});

test('a special token without an embedding is refused only if the template prints it', () => {
  check(added(true), { vocab_size: 61 });
  expect(() => {
    check(added(true), { vocab_size: 61 }, 'a <call> b');
  }).toThrow('"<call>" with id 61');
});

test('tokens that have embeddings pass, of the text model of a larger one too', () => {
  check(added(false), { vocab_size: 62 });
  check(added(false), {});
  check(added(false), { vocab_size: 1, text_config: { vocab_size: 64 } });
});
