import { describe, it } from 'vitest';
import { createChatTokenizerFiles } from '../testing.js';
import { templateFamilyCases } from '../testing/template-family-cases.js';
import { hermes } from './hermes/registration.js';
import { llama3 } from './llama3/registration.js';
import { qwen3Coder } from './qwen3-coder/registration.js';

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

describe('qwen3_coder', () => {
  const cases = templateFamilyCases(qwen3Coder, {
    files: createChatTokenizerFiles('qwen3_coder'),
    replies: [
      { text: 'It is <3>.', reply: plain('It is <3>.') },
      {
        text: 'Well.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
        reply: { content: 'Well.', toolCalls: [{ name: 'add', arguments: '{"a": 1}' }], malformedToolCalls: 0 },
      },
      {
        text: '<tool_call>\n<function=add>\n</function>\n</tool_call>\n<tool_call><function=add><parameter=b>[2]</parameter></function></tool_call>',
        reply: {
          content: '',
          toolCalls: [
            { name: 'add', arguments: '{}' },
            { name: 'add', arguments: '{"b": [2]}' },
          ],
          malformedToolCalls: 0,
        },
      },
      {
        text: '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call> and more',
        reply: {
          ...plain('<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call> and more'),
          malformedToolCalls: 1,
        },
      },
      {
        text: '<tool_call>\n<function=add>\n<parameter=a>\n1',
        reply: { ...plain('<tool_call>\n<function=add>\n<parameter=a>\n1'), malformedToolCalls: 1 },
      },
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
