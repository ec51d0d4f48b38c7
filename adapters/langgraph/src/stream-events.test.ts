import type { ChatDelta, ChatResponse } from '@agentjet/core';
import { openScriptedEpisode, extendsPrevious, toolCallText } from '@agentjet/rollout/testing';
import { ChatModelStream } from '@langchain/core/language_models/stream';
import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel } from './index.js';
import { toStreamEvents } from './stream-events.js';

const call = (args: string): string => toolCallText('add', args);
const add = tool(({ a, b }) => String(a + b), { name: 'add', schema: z.object({ a: z.number(), b: z.number() }) });
const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];

function open(replies: readonly string[], maxTokens = 200) {
  const episode = openScriptedEpisode({ replies: replies.map((text) => ({ text, tokenDelayMs: 0 })) });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver', sampling: { maxTokens } }) };
}

/** Answers with calls, by what they contain. */
const replies = {
  'text and a call': `Summing. ${call('{"b": 2,  "a":1.0}')}`,
  'two calls': `${call('{"a": 1, "b": 2}')}${call('{"a": 3,"b": 4}')}`,
  'thinking, text and two calls': `<think>\nhm\n</think>\n\nSo: ${call('{"a": 1, "b": 2}')}${call('{"a": 3,"b": 4}')}`,
};
const results: Readonly<Record<keyof typeof replies, readonly string[]>> = {
  'text and a call': ['3'],
  'two calls': ['3', '7'],
  'thinking, text and two calls': ['3', '7'],
};

async function runAgent(agent: ReturnType<typeof createAgent>, version: 'v1' | 'v2' | 'v3') {
  const input = { messages: [new HumanMessage('go')] };
  if (version === 'v3') {
    const run = await agent.streamEvents(input, { version });
    return ((await run.output) as { readonly messages: readonly BaseMessage[] }).messages;
  }
  let last: readonly BaseMessage[] = [];
  for await (const { event, data } of agent.streamEvents(input, { version })) {
    const { messages } = (data?.output ?? {}) as { readonly messages?: readonly BaseMessage[] };
    if (event === 'on_chain_end' && messages !== undefined) last = messages;
  }
  return last;
}

describe.each(['v1', 'v2', 'v3'] as const)('streamEvents %s of an agent', (version) => {
  it.each(Object.keys(replies) as (keyof typeof replies)[])('runs the tools of an answer with %s', async (kind) => {
    const { episode, model } = open([replies[kind], 'done']);
    const messages = await runAgent(createAgent({ model, tools: [add] }) as never, version);
    expect(messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text)).toEqual(
      results[kind],
    );
    expect(messages.at(-1)?.text).toBe('done');
    expect(episode.engine.requests).toHaveLength(2);
    expect(extendsPrevious(episode, 1)).toBe(true);
    expect(episode.finish().samples).toHaveLength(1);
  });

  it('ends as invoke does on arguments that are not an object', async () => {
    const { episode, model } = open([call('[1]'), 'never']);
    await runAgent(createAgent({ model, tools: [add] }) as never, version);
    expect(episode.engine.requests).toHaveLength(1);
  });
});

/** LangChain's types lack this option of a model, but its code has it. */
const v3: object = { version: 'v3' };

/** The answer as a model's own `streamEvents` returns it. */
async function streamed(version: 'v1' | 'v2' | 'v3', reply: string, maxTokens?: number): Promise<AIMessage> {
  const { model } = open([reply], maxTokens);
  const options = { tools };
  if (version === 'v3') return (await model.streamEvents('hi', { ...options, ...v3 })) as unknown as AIMessage;
  let last: unknown;
  for await (const { event, data } of model.streamEvents('hi', { ...options, version }))
    if (event === 'on_chat_model_end' || event === 'on_llm_end') last = data.output;
  const found = last as { readonly generations?: readonly (readonly { readonly message: AIMessage }[])[] };
  return found.generations?.[0]?.[0]?.message ?? (last as AIMessage);
}

describe.each(['v1', 'v2', 'v3'] as const)('streamEvents %s of the model', (version) => {
  it('has thinking, text and both calls', async () => {
    const { contentBlocks, response_metadata: metadata } = await streamed(
      version,
      replies['thinking, text and two calls'],
    );
    expect(contentBlocks).toEqual([
      { type: 'reasoning', reasoning: expect.stringMatching(/^\s*hm\s*$/) },
      { type: 'text', text: expect.stringContaining('So:') },
      { type: 'tool_call', id: expect.any(String), name: 'add', args: { a: 1, b: 2 } },
      { type: 'tool_call', id: expect.any(String), name: 'add', args: { a: 3, b: 4 } },
    ]);
    expect(metadata['finish_reason']).toMatch(/^tool_(use|calls)$/);
  });

  it('says stop and length', async () => {
    expect((await streamed(version, 'done')).response_metadata['finish_reason']).toBe('stop');
    expect((await streamed(version, 'far too many words', 2)).response_metadata['finish_reason']).toBe('length');
  });
});

describe('the stream of version v3', () => {
  it('brings text, thinking and calls as they are made, and the usage', async () => {
    const { model, episode } = open([replies['thinking, text and two calls']]);
    const stream = model.streamEvents('hi', { ...v3, tools });
    let numEarly = 0;
    const names: string[] = [];
    for await (const { event } of stream) {
      names.push(event);
      numEarly += episode.engine.numRunning;
    }
    expect(numEarly).toBeGreaterThan(3);
    expect(names.filter((name) => name === 'content-block-start')).toHaveLength(4);
    expect(names.filter((name) => name === 'content-block-finish')).toHaveLength(4);
    expect([(await stream.reasoning).trim(), (await stream.toolCalls).length]).toEqual(['hm', 2]);
    expect(await stream.usage).toMatchObject({
      output_tokens: episode.engine.requests[0]?.completion?.ids.length,
    });
  });

  it('keeps arguments that cannot be read as an invalid call', async () => {
    const toolCall = { id: 'c', name: 'add', arguments: '7' };
    const answer = async function* (): AsyncGenerator<ChatDelta, ChatResponse> {
      yield { type: 'tool_call', index: 0, toolCall };
      const message = { role: 'assistant', content: '', toolCalls: [toolCall] } as const;
      return {
        id: 'r',
        model: 'm',
        message,
        finishReason: 'tool_calls',
        usage: { promptTokens: 1, completionTokens: 1 },
      };
    };
    const message = await new ChatModelStream(toStreamEvents(answer()));
    expect(message.contentBlocks).toMatchObject([{ type: 'invalid_tool_call', id: 'c', name: 'add', args: '7' }]);
  });

  it('can be asked again, and continues exactly the tokens', async () => {
    const { model, episode } = open([replies['text and a call'], 'ok']);
    const first = (await model.streamEvents('hi', { ...v3, tools })) as unknown as AIMessage;
    const result = new ToolMessage({ content: '3', tool_call_id: first.tool_calls?.[0]?.id ?? '' });
    await model.invoke([new HumanMessage('hi'), first, result], { tools });
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('ends with its signal, and with LangChain’s own error', async () => {
    const episode = openScriptedEpisode({ replies: [{ text: 'a long answer that nobody reads', tokenDelayMs: 5 }] });
    const controller = new AbortController();
    const stream = asModel(episode.tuner, { agentName: 'solver' }).streamEvents('hi', {
      ...v3,
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 8);
    await expect(stream.output).rejects.toThrow(/abort/i);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });
});
