import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { hardTexts } from './data/hard-texts.js';

/**
 * Do our tokenizers give the ids of the Rust library? `data/hard_texts.py` trained a small vocabulary for the
 * pre-tokenizer of each model, and kept the Rust library's ids of the same texts. The tokenizer `nano` has its own
 * vocabulary. `single-word` has added tokens with all of their options.
 */
export const tokenizerNames = ['smollm2', 'qwen2.5', 'qwen3', 'llama3', 'nano', 'single-word'] as const;
export type TokenizerName = (typeof tokenizerNames)[number];

const numTexts = 5000;
const digestSize = 4;

export type TokenizersFigures = { readonly texts: number; readonly different: number };

/** Each text is counted once, even if it differs in several tokenizers. */
export async function measureTokenizers(): Promise<TokenizersFigures> {
  const lists = await Promise.all(tokenizerNames.map(differentTexts));
  return { texts: numTexts, different: new Set(lists.flat()).size };
}

/** Returns the texts whose ids differ from those of the Rust library. */
export async function differentTexts(name: TokenizerName): Promise<readonly string[]> {
  const file = name === 'nano' ? '../../../packages/nano/model/tokenizer.json' : `data/hard-texts/${name}.json`;
  const tokenizerJson = JSON.parse(await readFile(new URL(file, import.meta.url), 'utf8')) as JsonObject;
  const digests = await readFile(new URL(`data/hard-texts/${name}.bin`, import.meta.url));
  const tokenizerConfig = { chat_template: '{{ messages }}', eos_token: '<|im_end|>' };
  const { tokenizer } = createChatTokenizer({ tokenizerJson, tokenizerConfig });
  const texts = hardTexts(numTexts);
  if (digests.length !== texts.length * digestSize)
    throw new Error(`data/hard-texts/${name}.bin has ${digests.length} bytes. Run data/hard_texts.py again.`);
  return texts.filter((text, at) => {
    const expected = digests.subarray(at * digestSize, (at + 1) * digestSize);
    return !digestOf(tokenizer.encode(text)).equals(expected);
  });
}

function digestOf(ids: Int32Array): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([...ids]))
    .digest()
    .subarray(0, digestSize);
}
