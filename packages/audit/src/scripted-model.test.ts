import { createRandom, type ChatDelta, type ChatRequest, type ToolSpec } from '@agentjet/core';
import { expect, it } from 'vitest';
import type { Line } from './contract.js';
import { createScriptedModel } from './scripted-model.js';

const tool = (name: string, properties: object): ToolSpec => ({ name, parameters: { type: 'object', properties } });
const submit = tool('submit_answer', { answer: { type: 'string' } });
const search = tool('search', { words: { type: 'string' }, limit: { type: 'integer', maximum: 5 } });
const ask: ChatRequest = { messages: [{ role: 'user', content: 'What is 6 * 7?' }] };
const modelOf = (line: Line) => createScriptedModel({ script: () => line, random: createRandom(1) });
const answer = async (line: Line, request: Partial<ChatRequest>) => modelOf(line).generate({ ...ask, ...request });

it('writes text and thoughts', async () => {
  const { message, finishReason } = await answer({ text: '42', thoughts: 'hm' }, {});
  expect(message).toEqual({ role: 'assistant', content: '42', reasoning: 'hm' });
  expect(finishReason).toBe('stop');
});

it('calls a tool with arguments that match its schema', async () => {
  const { message, finishReason } = await answer({ text: '42', calls: [{ name: 'search' }] }, { tools: [search] });
  expect(finishReason).toBe('tool_calls');
  expect(message.toolCalls).toMatchObject([{ name: 'search', arguments: '{"words":"42","limit":5}' }]);
});

it('does not read a number or a choice out of a sentence, because it may deny it', async () => {
  const schema = {
    type: 'object',
    properties: { value: { type: 'integer' }, choice: { enum: ['a', 'yes'] }, ok: { type: 'boolean' } },
  };
  const format = { type: 'json_schema', name: 'result', schema } as const;
  const { message } = await answer({ text: 'It is not 42, yes or true.' }, { responseFormat: format });
  expect(JSON.parse(message.content)).not.toHaveProperty('value', 42);
  const plain = await answer({ text: 'yes' }, { responseFormat: format });
  expect(JSON.parse(plain.message.content)).toMatchObject({ choice: 'yes', ok: true });
});

it('calls a tool if the request demands it, and no tool if it forbids it', async () => {
  const both = { tools: [submit, search] };
  const required = await answer({ text: '42' }, { ...both, toolChoice: 'required' });
  expect(required.message.toolCalls).toMatchObject([{ name: 'submit_answer', arguments: '{"answer":"42"}' }]);
  const named = await answer({ text: '42' }, { ...both, toolChoice: { name: 'search' } });
  expect(named.message.toolCalls).toMatchObject([{ name: 'search' }]);
  const none = await answer({ text: '42', calls: [{ name: 'search' }] }, { ...both, toolChoice: 'none' });
  expect(none.message).toEqual({ role: 'assistant', content: '42' });
});

it('writes JSON if the request asks for it', async () => {
  const schema = {
    type: 'object',
    properties: { steps: { type: 'array', items: { type: 'string' } }, answer: { type: 'number' } },
  };
  const format = { type: 'json_schema', name: 'result', schema } as const;
  expect((await answer({ text: '42' }, { responseFormat: format })).message.content).toBe(
    '{"steps":["42"],"answer":42}',
  );
  expect((await answer({ text: '42' }, { responseFormat: { type: 'json_object' } })).message.content).toBe(
    '{"answer":"42"}',
  );
  expect((await answer({ text: '{"a":1}' }, { responseFormat: format })).message.content).toBe('{"a":1}');
});

it('streams what it writes', async () => {
  const deltas: ChatDelta[] = [];
  await modelOf({ text: '42' }).generate(ask, { onDelta: (delta) => deltas.push(delta) });
  expect(deltas).toEqual([{ type: 'content', text: '42' }]);
});

it('stops calling tools after a while, and refuses an agent that never ends', async () => {
  const model = modelOf({ text: '', calls: [{ name: 'search' }] });
  const finishes: string[] = [];
  for (let turn = 0; turn < 256; turn++)
    finishes.push((await model.generate({ ...ask, tools: [search] })).finishReason);
  expect(finishes.filter((finish) => finish === 'tool_calls')).toHaveLength(64);
  await expect(model.generate(ask)).rejects.toThrow('256 times in one episode');
});
