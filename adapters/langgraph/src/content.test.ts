import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';
import { asModel } from './index.js';

function open() {
  const episode = openScriptedEpisode({ replies: ['ok'] });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

async function promptAfter(other: BaseMessage): Promise<{ readonly prompt: string; readonly ignored: object }> {
  const { episode, model } = open();
  await model.invoke([new HumanMessage('hi'), other, new HumanMessage('go on')]);
  return { prompt: episode.engine.requests[0]?.text ?? '', ignored: episode.finish().ignoredParameters };
}

const said = { type: 'text', text: 'I looked.' };
const toolUse = { type: 'tool_use', id: 'x', name: 'look', input: { at: 'it' } };
const toolCalls = [{ id: 'x', name: 'look', args: { at: 'it' } }];

describe('an answer of another model', () => {
  const shown: Readonly<Record<string, { readonly content: readonly object[]; readonly words: RegExp }>> = {
    'Anthropic’s thinking': {
      content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, said],
      words: /I looked/,
    },
    'a refusal': { content: [{ type: 'refusal', refusal: 'I will not.' }], words: /I will not\./ },
    'Bedrock’s thinking': {
      content: [{ type: 'reasoning_content', reasoningText: { text: 'hm', signature: 's' } }, said],
      words: /I looked/,
    },
    'OpenAI’s thinking': {
      content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }, said],
      words: /I looked/,
    },
    'a call in a block alone': { content: [said, toolUse], words: /"name": "look", "arguments": \{"at": ?"it"\}/ },
    'a string among blocks': { content: ['I looked.' as never], words: /I looked\./ },
  };

  it.each(Object.entries(shown))('is shown: %s', async (_name, { content, words }) => {
    const { prompt, ignored } = await promptAfter(new AIMessage({ content: [...content] as never }));
    expect(prompt).toMatch(words);
    expect(ignored).toEqual({});
  });

  it('has its calls once, also with what a stream left between', async () => {
    const content = [said, toolUse, { type: 'input_json_delta', index: 1, input: '{"at": "it"}' }];
    const { prompt, ignored } = await promptAfter(new AIMessage({ content, tool_calls: toolCalls }));
    expect(prompt.match(/"name": "look"/g)).toHaveLength(1);
    expect(ignored).toEqual({});
  });

  const unshown: Readonly<Record<string, object>> = {
    redacted_thinking: { type: 'redacted_thinking', data: 'EuY' },
    server_tool_use: { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    web_search_tool_result: { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    image_url: { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    image: { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    image_generation_call: { type: 'image_generation_call', id: 'i' },
    server_tool_call: { type: 'server_tool_call', id: 's', name: 'search', args: {} },
    non_standard: { type: 'non_standard', value: {} },
    guardContent: { guardContent: {} },
    'a block of next year': { type: 'a block of next year' },
  };

  it.each(Object.entries(unshown))(
    'never ends the call, and what cannot be shown is counted: %s',
    async (type, block) => {
      const { prompt, ignored } = await promptAfter(new AIMessage({ content: [said, block, block] as never }));
      expect(prompt).toContain('I looked.');
      expect(ignored).toEqual({ solver: { [`messages: ${type}`]: 1 } });
    },
  );

  it('may say nothing', async () => {
    const { prompt } = await promptAfter(new AIMessage({ content: null as never, tool_calls: toolCalls }));
    expect(prompt).toContain('"name": "look"');
  });
});

describe('content that is neither a string nor blocks', () => {
  const wrong: readonly (readonly [string, BaseMessage, string])[] = [
    ['a number', new HumanMessage({ content: 5 as never }), 'of type "human" has the content 5.'],
    ['an object', new SystemMessage({ content: { a: 1 } as never }), 'of type "system" has the content {"a":1}.'],
    [
      'a number from a tool',
      new ToolMessage({ content: 7 as never, tool_call_id: 'x' }),
      'of type "tool" has the content 7.',
    ],
    ['a number among blocks', new HumanMessage({ content: [5] as never }), 'of type "human" has the content 5.'],
    ['true from an agent', new AIMessage({ content: true as never }), 'of type "ai" has the content true.'],
  ];

  it.each(wrong)('is refused in words: %s', async (_name, message, words) => {
    const { episode, model } = open();
    await expect(model.invoke([message])).rejects.toThrow(words);
    await expect(model.invoke([message])).rejects.toThrow('Pass a string, or an array of content blocks.');
    expect(episode.engine.requests).toHaveLength(0);
  });
});
