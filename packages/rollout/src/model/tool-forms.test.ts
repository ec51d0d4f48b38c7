import type { ChatDelta, ChatModel, ChatRequest } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { openScriptedEpisode } from '../testing/scripted-episode.js';

const bare = '{"name": "add", "arguments": {"a": 1}}';
const request: ChatRequest = {
  messages: [{ role: 'user', content: '1 + 1?' }],
  tools: [{ name: 'add', parameters: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } }],
};

async function ask(family: TemplateFamily, options: { readonly toolCalls?: 'lenient'; readonly reply: string }) {
  const { reply, ...reading } = options;
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles(family), ...reading });
  const episode = openScriptedEpisode({ replies: [reply], chatTokenizer });
  const deltas: ChatDelta[] = [];
  const model = episode.tuner.selectModel<ChatModel>({ agentName: 'a' }, (found) => found);
  const { message } = await model.generate(request, { onDelta: (delta) => deltas.push(delta) });
  const called = deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.toolCall] : []));
  return { message, called, calls: episode.finish().calls };
}

describe('calls without tags', () => {
  it('are calls of the answer and of its stream if reading is lenient', async () => {
    const { message, called, calls } = await ask('plain', { toolCalls: 'lenient', reply: bare });
    expect(message).toMatchObject({ content: '', toolCalls: [{ name: 'add', arguments: '{"a": 1}' }] });
    expect(called).toEqual(message.toolCalls);
    expect(calls).toMatchObject({ malformedToolCalls: 0, malformedArguments: 0 });
  });

  it('are text otherwise, and counted', async () => {
    const { message, called, calls } = await ask('chatml', { reply: bare });
    expect(message).toMatchObject({ content: bare });
    expect(called).toEqual([]);
    expect(calls.malformedToolCalls).toBe(1);
  });
});

it('arguments of a call in XML have the types of the schema of its tool', async () => {
  const write = (value: string) =>
    `<tool_call>\n<function=add>\n<parameter=a>\n${value}\n</parameter>\n</function>\n</tool_call>`;
  const { message, called, calls } = await ask('qwen3_coder', { reply: write('1') });
  expect(message.toolCalls).toMatchObject([{ name: 'add', arguments: '{"a": 1}' }]);
  expect(called).toEqual(message.toolCalls);
  expect(calls).toMatchObject({ malformedToolCalls: 0, malformedArguments: 0 });
  expect((await ask('qwen3_coder', { reply: write('one') })).calls.malformedArguments).toBe(1);
});
