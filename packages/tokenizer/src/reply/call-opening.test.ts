import { describe, expect, it } from 'vitest';
import { createChatTokenizer } from '../chat-tokenizer.js';
import { createChatTokenizerFiles } from '../testing.js';

describe('callOpening', () => {
  it.each([
    ['chatml', '}\n</tool_call>'],
    ['qwen3', '}\n</tool_call>'],
    ['llama3', '}'],
  ] as const)('begins a call that %s reads, with its name left open or given', (family, close) => {
    const { template } = createChatTokenizer(createChatTokenizerFiles(family));
    const key = family === 'llama3' ? 'parameters' : 'arguments';
    const call = { name: 'add "x"', arguments: '{"a":  1}' };
    expect(template.parse(`${template.callOpening?.()} "add \\"x\\"", "${key}": {"a":  1}${close}`).toolCalls).toEqual([
      call,
    ]);
    expect(template.parse(`${template.callOpening?.('add "x"')} {"a":  1}${close}`).toolCalls).toEqual([call]);
  });

  it('closes a thinking block that the prompt has opened', () => {
    const { template } = createChatTokenizer({
      ...createChatTokenizerFiles('qwen3'),
      replyFormat: { reasoning: 'open' },
    });
    expect(template.parse(`${template.callOpening?.('add')} {}}\n</tool_call>`)).toMatchObject({
      content: '',
      toolCalls: [{ name: 'add' }],
    });
  });

  it('is undefined if the model has no format for calls', () => {
    const { template } = createChatTokenizer({
      ...createChatTokenizerFiles('chatml'),
      replyFormat: { toolCalls: 'none' },
    });
    expect(template.callOpening?.('add')).toBeUndefined();
  });
});
