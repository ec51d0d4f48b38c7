import { openScriptedEpisode, toolCallText } from '@agentjet/rollout/testing';
import type { AIMessageChunk } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel } from './index.js';
import { toWholeAnswer } from './tuned-message.js';

const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
const call = (args: string): string => toolCallText('add', args);

function openModel(reply: string, delayMs?: number) {
  const replies = [{ text: reply, ...(delayMs !== undefined && { tokenDelayMs: delayMs }) }];
  return asModel(openScriptedEpisode({ replies }).tuner, { agentName: 'solver', sampling: { maxTokens: 200 } });
}

async function streamed(reply: string): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await openModel(reply).stream('hi', { tools })) whole = whole?.concat(chunk) ?? chunk;
  if (whole === undefined) throw new Error('no chunks');
  return whole;
}

describe('the content blocks of a message', () => {
  it('are its thinking, its text and its calls, whether streamed or not', async () => {
    const reply = `<think>\nhm\n</think>\n\nSo: ${call('{"a": 1}')}`;
    const { contentBlocks } = await openModel(reply).invoke('hi', { tools });
    expect(contentBlocks).toEqual([
      { type: 'reasoning', reasoning: 'hm' },
      { type: 'text', text: expect.stringContaining('So:') },
      { type: 'tool_call', id: expect.any(String), name: 'add', args: { a: 1 } },
    ]);
    const withoutIds = (blocks: readonly object[]) => blocks.map((block) => ({ ...block, id: undefined }));
    expect(withoutIds((await streamed(reply)).contentBlocks)).toEqual(withoutIds(contentBlocks));
  });

  it('list calls that cannot be read', () => {
    const { message } = toWholeAnswer({
      id: 'r',
      model: 'm',
      message: { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'add', arguments: '7' }] },
      finishReason: 'tool_calls',
      usage: { promptTokens: 1, completionTokens: 1 },
    });
    expect(message.contentBlocks).toMatchObject([{ type: 'invalid_tool_call', id: 'c', name: 'add', args: '7' }]);
  });

  it('are empty for an empty answer', async () => {
    expect((await openModel('').invoke('hi')).contentBlocks).toEqual([]);
  });
});

it('a call that its option timeout ends is a TimeoutError', async () => {
  const slow = openModel('one two three four five six seven', 200);
  await expect(slow.invoke('hi', { timeout: 50 })).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('tracers see provider, model, sampling, and the wish for structured output', async () => {
  const seen: Record<string, unknown>[] = [];
  const callbacks = [
    { handleChatModelStart: (...given: unknown[]) => void seen.push({ extra: given[4], metadata: given[6] }) },
  ];
  const schema = z.object({ sum: z.number() });
  await openModel('{"sum": 3}').withStructuredOutput(schema, { method: 'jsonSchema' }).invoke('hi', { callbacks });
  expect(seen[0]).toMatchObject({
    metadata: { ls_provider: 'agentjet', ls_model_name: 'agentjet/solver', ls_model_type: 'chat', ls_max_tokens: 200 },
  });
  expect(JSON.stringify(seen[0])).toContain('ls_structured_output_format');
});

it('tracers find all of their keys, also for what is not set', () => {
  expect(Object.keys(openModel('hello').getLsParams({})).toSorted()).toEqual([
    'ls_max_tokens',
    'ls_model_name',
    'ls_model_type',
    'ls_provider',
    'ls_stop',
    'ls_temperature',
  ]);
});

it('the metadata of an answer names its model', async () => {
  const { response_metadata: metadata } = await openModel('hello').invoke('hi');
  expect(metadata).toMatchObject({ model: 'agentjet/solver', model_name: 'agentjet/solver' });
});
