import type { ChatModel } from '@agentjet/core';

/** A model that calls the tool `add` first, and then answers. */
export const addingModel: ChatModel = {
  name: 'scripted',
  generate: async ({ messages }) => ({
    id: 'x',
    model: 'scripted',
    message:
      messages.at(-1)?.role === 'tool'
        ? { role: 'assistant', content: 'It is 3.' }
        : { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' }] },
    finishReason: 'stop',
    usage: { promptTokens: 10, completionTokens: 5 },
  }),
};
