import type { ChatTokenizer } from '@agentjet/tokenizer';
import { createToyTemplate, type ToyTemplateOptions } from './toy-template.js';
import { createToyTokenizer } from './toy-tokenizer.js';

/**
 * A chat tokenizer in plain code, without files: ChatML over bytes and a few pairs of letters. It is fast, and its ids
 * are easy to read.
 */
export function createToyChatTokenizer({
  thinking = 'none',
}: Partial<Pick<ToyTemplateOptions, 'thinking'>> = {}): ChatTokenizer {
  const tokenizer = createToyTokenizer();
  const stopIds = ['<|im_end|>', '<|endoftext|>'].flatMap((token) => tokenizer.idOf(token) ?? []);
  return { tokenizer, template: createToyTemplate({ thinking, stopIds }) };
}
