import path from 'node:path';
import { expect, it } from 'vitest';
import { formatParameters } from './format-parameters.js';
import { isServerTool, reviewParameters } from './review-parameters.js';
import { type Protocol, protocolNames } from './wish.js';
import { wishes } from './wishes.js';

it('the page of parameters is the table', async () => {
  await expect(formatParameters()).toMatchFileSnapshot(path.resolve(import.meta.dirname, '../../PARAMETERS.md'));
});

it.each(Object.keys(protocolNames) as Protocol[])('%s has each name once', (protocol) => {
  const names = wishes.flatMap((wish) => wish.names[protocol] ?? []);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});

it('a refused parameter is accepted at a value that changes nothing, and if it is null', () => {
  expect(reviewParameters('chat', { presence_penalty: 0, logit_bias: {}, top_logprobs: null }).refused).toBeUndefined();
  expect(reviewParameters('chat', { presence_penalty: 0.5 }).refused).toEqual({
    name: 'presence_penalty',
    reason: expect.stringContaining('leave it out or send 0'),
    isValue: true,
  });
});

it('parameters without effect are found wherever they are, and only if they ask for something', () => {
  const tools = [{ type: 'function', strict: false }, { type: 'web_search_preview' }, 'no tool', null];
  const body = { tools, text: { verbosity: 'low' }, reasoning: null, context_management: [] };
  expect(reviewParameters('responses', body).ignored.toSorted()).toEqual([
    'text.verbosity',
    'tools: web_search_preview',
  ]);
  expect(reviewParameters('responses', { tools: [{ type: 'function', strict: true }] }).ignored).toEqual([
    'tools[].strict',
  ]);
});

it.each([null, undefined, 'text', 7, [], { tools: 'none', text: 7 }])('%j asks for nothing', (body) => {
  expect(reviewParameters('responses', body)).toEqual({ ignored: [], refused: undefined });
});

it('tools that a server would run are known by their type', () => {
  expect(isServerTool('messages', 'web_search_20250305')).toBe(true);
  expect(isServerTool('messages', 'bash_20250124')).toBe(false);
  expect(isServerTool('responses', undefined)).toBe(false);
});

it.each([
  ['chat', { response_format: { type: 'json_object', grammar: 'x' } }, 'response_format.grammar'],
  ['chat', { response_format: { json_schema: { name: 'a', hint: 'x' } } }, 'response_format.json_schema.hint'],
  [
    'chat',
    { tools: [{ function: { name: 'a', examples: [] } }, { function: { examples: [1] } }] },
    'tools[].function.examples',
  ],
  ['responses', { text: { format: { type: 'text', hint: 1 } } }, 'text.format.hint'],
  ['responses', { tools: [{ type: 'function', returns: {} }] }, 'tools[].returns'],
  ['messages', { tools: [{ name: 'a', defer_loading: true }] }, 'tools[].defer_loading'],
  ['messages', { tools: [{ name: 'a', input_examples: [{}] }] }, 'tools[].input_examples'],
  ['messages', { output_config: { format: { type: 'json_schema', name: 'x' } } }, 'output_config.format.name'],
] as const)('a field of %s that nothing reads is counted once: %j', (protocol, body, name) => {
  expect(reviewParameters(protocol, body)).toEqual({ ignored: [name], refused: undefined });
});

it('fields of a tool that a server would run are its own', () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }];
  expect(reviewParameters('messages', { tools }).ignored).toEqual(['tools: web_search_20250305']);
});
