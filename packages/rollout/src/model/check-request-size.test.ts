import { type ChatRequest, EngineError } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { openScriptedEpisode } from '../testing.js';

const megabyte = ' '.repeat(1 << 20);
const user = (content: string) => ({ role: 'user' as const, content });
const calling = (text: string) => ({
  role: 'assistant' as const,
  content: '',
  toolCalls: [{ id: 'c', name: 't', arguments: text }],
});

/** Records the longest text that was encoded. */
function watchEncoding(): { readonly chatTokenizer: ChatTokenizer; longest: number } {
  const { tokenizer, template } = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const watch = {
    longest: 0,
    chatTokenizer: {
      template,
      tokenizer: {
        ...tokenizer,
        encode: (text: string) => {
          watch.longest = Math.max(watch.longest, text.length);
          return tokenizer.encode(text);
        },
      },
    },
  };
  return watch;
}

async function ask(request: ChatRequest) {
  const watch = watchEncoding();
  const episode = openScriptedEpisode({
    replies: ['hello'],
    chatTokenizer: watch.chatTokenizer,
    contextLength: 10_000,
  });
  const model = episode.tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  const error: unknown = await model.generate(request).catch((thrown: unknown) => thrown);
  return { error, longest: watch.longest, calls: episode.finish().calls };
}

const deep = (levels: number): object => (levels === 0 ? {} : { properties: deep(levels - 1) });

describe('a request that no context can hold is refused before it is encoded', () => {
  it.each<readonly [string, ChatRequest]>([
    ['one long message', { messages: [user(megabyte)] }],
    ['many messages', { messages: Array.from({ length: 100 }, () => user('hello the '.repeat(2_000))) }],
    ['a tool call', { messages: [user('hi'), calling(megabyte)] }],
    ['reasoning', { messages: [user('hi'), { role: 'assistant', content: '', reasoning: megabyte }] }],
    ['a tool', { messages: [user('hi')], tools: [{ name: 't', description: megabyte, parameters: {} }] }],
  ])('%s', async (_what, request) => {
    const { error, longest, calls } = await ask(request);
    expect(error).toMatchObject({ code: 'context_overflow', message: expect.stringMatching(/at least \d+ tokens/) });
    expect(error).toBeInstanceOf(EngineError);
    expect(longest).toBeLessThan(1_000);
    expect(calls).toMatchObject({ answered: 0, failed: 1 });
  });
});

describe('a request of too many parts is refused in words', () => {
  it.each<readonly [string, ChatRequest, RegExp]>([
    ['messages', { messages: Array.from({ length: 4_097 }, () => user('')) }, /4097 messages, and at most 4096/],
    [
      'tools',
      {
        messages: [user('hi')],
        tools: Array.from({ length: 1_025 }, (_, at) => ({ name: `t${at}`, parameters: {} })),
      },
      /1025 tools, and at most 1024/,
    ],
    [
      'levels',
      { messages: [user('hi')], tools: [{ name: 'deep', parameters: { ...deep(200) } }] },
      /"deep" are nested more than 128 levels/,
    ],
  ])('%s', async (_what, request, words) => {
    const { error, longest } = await ask(request);
    expect(error).toMatchObject({ code: 'bad_request', message: expect.stringMatching(words) });
    expect(longest).toBeLessThan(1_000);
  });
});

it('a request that fits is answered, however many characters it has', async () => {
  const { error } = await ask({ messages: [user(' the'.repeat(9_000))] });
  expect(error).toMatchObject({ message: { content: 'hello' } });
});
