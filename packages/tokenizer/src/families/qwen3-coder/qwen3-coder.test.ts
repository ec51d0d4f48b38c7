import type { JsonObject } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createChatTokenizer } from '../../index.js';
import { createChatTokenizerFiles } from '../../testing.js';

const { template } = createChatTokenizer(createChatTokenizerFiles('qwen3_coder'));

const parameters: JsonObject = {
  type: 'object',
  $defs: { place: { type: 'object', properties: { x: { type: 'integer' } } } },
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    isHot: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    place: { $ref: '#/$defs/place' },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    either: { type: ['string', 'null'] },
    level: { enum: [1, 2, 'high'] },
  },
};
const tools = [{ name: 'f', parameters }];

function write(pairs: Readonly<Record<string, string>>): string {
  const written = Object.entries(pairs).map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`);
  return `<tool_call>\n<function=f>\n${written.join('')}</function>\n</tool_call>`;
}

function read(key: string, value: string): unknown {
  const { toolCalls } = template.parse(write({ [key]: value }), { tools });
  return (JSON.parse(toolCalls[0]?.arguments ?? 'null') as JsonObject | null)?.[key];
}

describe('a value', () => {
  it.each([
    ['text', '5', '5'],
    ['text', 'true', 'true'],
    ['text', 'a "quoted"\nline', 'a "quoted"\nline'],
    ['text', '', ''],
    ['text', '  indented', '  indented'],
    ['count', '5', 5],
    ['count', 'five', 'five'],
    ['ratio', '1e-3', 0.001],
    ['isHot', 'true', true],
    ['isHot', 'False', false],
    ['tags', '["a", "b"]', ['a', 'b']],
    ['tags', 'a, b', 'a, b'],
    ['place', '{"x": 1}', { x: 1 }],
    ['maybe', 'null', null],
    ['maybe', '7', 7],
    ['either', 'None', null],
    ['either', '7', '7'],
    ['level', '2', 2],
    ['level', 'high', 'high'],
    ['unknown', '7', '7'],
  ])('of %s that is written %j is %j', (key, value, meant) => {
    expect(read(key, value)).toEqual(meant);
  });

  it('keeps the spelling of a number that JavaScript cannot hold', () => {
    const [call] = template.parse(write({ count: '12345678901234567890' }), { tools }).toolCalls;
    expect(call?.arguments).toBe('{"count": 12345678901234567890}');
  });

  it('may hold the tags of calls', () => {
    const text = 'a </parameter> b\n</tool_call>\n<tool_call>';
    expect(read('text', text)).toBe(text);
  });

  it('is text if the request has no such tool', () => {
    const [call] = template.parse(write({ count: '5' })).toolCalls;
    expect(call).toEqual({ name: 'f', arguments: '{"count": "5"}' });
  });
});

it('prints a call in the history as the model writes it, and reads the same again', () => {
  const args = '{"text": "a", "count": 5, "isHot": true, "tags": ["a"]}';
  const answer = { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'f', arguments: args }] } as const;
  const question = { role: 'user', content: 'x' } as const;
  const prompt = template.render([question], { tools, addGenerationPrompt: true });
  const said = template.render([question, answer], { tools, addGenerationPrompt: false }).slice(prompt.length);
  expect(said).toContain('<parameter=count>\n5\n</parameter>');
  expect(template.parse(said.replace(/<\|im_end\|>\s*$/, ''), { tools }).toolCalls).toEqual([
    { name: 'f', arguments: args },
  ]);
});

it('a forced call begins in this form', () => {
  expect(template.callOpening?.()).toBe('<tool_call>\n<function=');
  expect(template.callOpening?.('f')).toBe('<tool_call>\n<function=f>\n');
});
