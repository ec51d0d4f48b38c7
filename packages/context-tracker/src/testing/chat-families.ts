import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { createStrictChatTokenizer, strictFamilies } from './strict-templates.js';
import { createToyChatTokenizer } from '../testing.js';

/**
 * Returns each family with its chat tokenizer and its number of runs. The toy is fast and gets most of the runs. The real
 * templates get enough runs to reach their special cases.
 */
export const chatFamilies = (
  ofToy: number,
  ofToyThatKeeps: number,
): readonly (readonly [string, ChatTokenizer, number])[] => [
  ['toy', createToyChatTokenizer(), ofToy],
  ['toy that strips thinking', createToyChatTokenizer({ thinking: 'strip' }), ofToy],
  ['toy that keeps thinking', createToyChatTokenizer({ thinking: 'keep' }), ofToyThatKeeps],
  ['ChatML (Qwen2.5)', createChatTokenizer(createChatTokenizerFiles('chatml')), 40],
  ['Qwen3', createChatTokenizer(createChatTokenizerFiles('qwen3')), 40],
  [
    'Qwen3 without thinking',
    createChatTokenizer({ ...createChatTokenizerFiles('qwen3'), templateVariables: { enable_thinking: false } }),
    40,
  ],
  ['Llama 3', createChatTokenizer(createChatTokenizerFiles('llama3')), 40],
  ...strictFamilies.map((family) => [family, createStrictChatTokenizer(family), 25] as const),
];
