import { expect, it } from 'vitest';
import { createChatTokenizer } from './index.js';
import { createChatTokenizerFiles } from './testing.js';

it.each(['', ' \n'])('a call whose arguments are %j is printed with an empty object', (written) => {
  const { template } = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const toolCalls = [{ id: 'x', name: 'look', arguments: written }];
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', toolCalls },
  ] as const;
  expect(template.render(messages, { addGenerationPrompt: false })).toContain('{"name": "look", "arguments": {}}');
});
