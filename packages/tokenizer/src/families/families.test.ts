import { describe, it } from 'vitest';
import { createChatTokenizerFiles } from '../testing.js';
import { templateFamilyCases } from '../testing/template-family-cases.js';
import { hermes } from './hermes/registration.js';
import { llama3 } from './llama3/registration.js';

const plain = (content: string) => ({ content, toolCalls: [], malformedToolCalls: 0 });

describe('hermes', () => {
  const cases = templateFamilyCases(hermes, {
    files: createChatTokenizerFiles('chatml'),
    replies: [
      { text: 'It is 3.', reply: plain('It is 3.') },
      {
        text: 'Well.\n<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>',
        reply: { content: 'Well.', toolCalls: [{ name: 'add', arguments: '{"a":1}' }], malformedToolCalls: 0 },
      },
      { text: '<tool_call>{"nam', reply: { ...plain('<tool_call>{"nam'), malformedToolCalls: 1 } },
    ],
  });
  for (const { name, run } of cases) it(name, run);
});

describe('llama3', () => {
  const cases = templateFamilyCases(llama3, {
    files: createChatTokenizerFiles('llama3'),
    replies: [
      { text: 'It is {3}.', reply: plain('It is {3}.') },
      {
        text: '{"name": "add", "parameters": {"a":1}}',
        reply: { content: '', toolCalls: [{ name: 'add', arguments: '{"a":1}' }], malformedToolCalls: 0 },
      },
    ],
  });
  for (const { name, run } of cases) it(name, run);
});
