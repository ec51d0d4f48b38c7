import type { ChatDelta } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { templates } from '../registrations.js';
import type { ReplyFormat } from './reply-format.js';
import { createReplyStreamParser, parseReply } from './reply-stream-parser.js';

const [hermesFamily, llama3Family, , noneFamily] = templates;
const families = { hermes: hermesFamily, llama3: llama3Family, none: noneFamily };
const hermes: ReplyFormat = { toolCalls: families.hermes, reasoning: 'think' };
const open: ReplyFormat = { toolCalls: families.hermes, reasoning: 'open' };
const llama3: ReplyFormat = { toolCalls: families.llama3, reasoning: 'none' };
const none: ReplyFormat = { toolCalls: families.none, reasoning: 'none' };

const call = '<tool_call>\n{"name": "calc", "arguments": {"a":  1.0}}\n</tool_call>';
const read = { name: 'calc', arguments: '{"a":  1.0}' };

function concatenate(deltas: readonly ChatDelta[], type: 'content' | 'reasoning'): string {
  return deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
}

describe('Hermes replies', () => {
  test.each([
    ['plain text', 'hello', { content: 'hello', toolCalls: [] }],
    ['a call alone', call, { content: '', toolCalls: [read] }],
    [
      "text, then a call: the newline between is the template's",
      `text\n${call}`,
      { content: 'text', toolCalls: [read] },
    ],
    ['two calls', `${call}\n${call}\n`, { content: '', toolCalls: [read, read] }],
    ['text after a call', `${call}\nmore`, { content: '\nmore', toolCalls: [read] }],
    ['space before a call that has no text', `\n\n${call}`, { content: '', toolCalls: [read] }],
    ['more than one newline before a call', `text\n\n${call}`, { content: 'text\n', toolCalls: [read] }],
    ['thinking', '<think>\nwhy\n</think>\n\nso', { reasoning: 'why', content: 'so', toolCalls: [] }],
    [
      'thinking, then a call',
      `<think>\nwhy\n</think>\n\n${call}`,
      { reasoning: 'why', content: '', toolCalls: [read] },
    ],
    ['an empty thinking block', '<think>\n\n</think>\n\nso', { content: 'so', toolCalls: [] }],
    ['thinking cut short', '<think>\nwhy\nthen</thi', { reasoning: 'why\nthen</thi', content: '', toolCalls: [] }],
    ['thinking that is not at the start', 'so <think>x</think>', { content: 'so <think>x</think>', toolCalls: [] }],
    ['a call inside thinking', `<think>${call}</think>done`, { reasoning: call, content: 'done', toolCalls: [] }],
    [
      'a closing tag inside an argument',
      '<tool_call>{"name": "say", "arguments": {"t": "</tool_call>"}}</tool_call>',
      { content: '', toolCalls: [{ name: 'say', arguments: '{"t": "</tool_call>"}' }] },
    ],
    [
      'unknown keys next to the call',
      '<tool_call>{"id": 7, "arguments": {"a":"}"}, "name": "calc"}</tool_call>',
      { content: '', toolCalls: [{ name: 'calc', arguments: '{"a":"}"}' }] },
    ],
    [
      'a key given twice: the last counts',
      '<tool_call>{"name": "a", "arguments": {"x":1}, "arguments": {"x":2}}</tool_call>',
      { content: '', toolCalls: [{ name: 'a', arguments: '{"x":2}' }] },
    ],
    [
      'an escaped key',
      '<tool_call>{"name": "a", "argu\\u006dents": {"x":1}}</tool_call>',
      { content: '', toolCalls: [{ name: 'a', arguments: '{"x":1}' }] },
    ],
    ['nothing', '', { content: '', toolCalls: [] }],
    ['only space', ' \n', { content: ' \n', toolCalls: [] }],
  ])('%s', (_, text, expected) => {
    expect(parseReply(hermes, text)).toEqual({ malformedToolCalls: 0, ...expected });
  });

  test.each([
    ['broken JSON', 'a\n<tool_call>\n{"name": "calc", "arguments": {"a": }}\n</tool_call>'],
    ['no closing tag', '<tool_call>\n{"name": "calc", "arguments": {"a": 1}}'],
    ['no name', '<tool_call>{"arguments": {}}</tool_call>'],
    ['an empty name', '<tool_call>{"name": "", "arguments": {}}</tool_call>'],
    ['no arguments', '<tool_call>{"name": "calc"}</tool_call>'],
    ['arguments that are not an object', '<tool_call>{"name": "calc", "arguments": "a"}</tool_call>'],
    ['an array', '<tool_call>[1]</tool_call>'],
    ['nothing in it', '<tool_call></tool_call>'],
    ['a string that never closes', '<tool_call>{"name": "calc, "arguments": {}}</tool_call> and on'],
  ])('%s stays in the content and is counted', (_, text) => {
    expect(parseReply(hermes, text)).toEqual({ content: text, toolCalls: [], malformedToolCalls: 1 });
  });

  test('a good call after a broken one is read', () => {
    const broken = '<tool_call>{"name": "calc, "arguments": {}}</tool_call>';
    expect(parseReply(hermes, `${broken}\n${call}`)).toEqual({
      content: broken,
      toolCalls: [read],
      malformedToolCalls: 1,
    });
  });

  test('a reply that begins inside the thinking block', () => {
    expect(parseReply(open, 'why\n</think>\n\nso')).toEqual({
      reasoning: 'why',
      content: 'so',
      toolCalls: [],
      malformedToolCalls: 0,
    });
  });
});

describe('Llama 3 replies', () => {
  const written = '{"name": "calc", "parameters": {"a":  1.0}}';

  test.each([
    ['a call', written, { content: '', toolCalls: [read] }],
    ['a tagged call', `<|python_tag|>${written}`, { content: '', toolCalls: [read] }],
    ['two calls', `${written}; ${written}`, { content: '', toolCalls: [read, read] }],
    [
      'a call with its type',
      '{"type": "function", "name": "calc", "parameters": {"a":  1.0}}',
      { content: '', toolCalls: [read] },
    ],
    ['text', 'hello', { content: 'hello', toolCalls: [] }],
    ['JSON that is an answer', '{"name": "Ada", "age": 36}', { content: '{"name": "Ada", "age": 36}', toolCalls: [] }],
    ['other JSON', '{"answer": {"name": 1}}', { content: '{"answer": {"name": 1}}', toolCalls: [] }],
    ['text after a call', `${written} done`, { content: ' done', toolCalls: [read] }],
  ])('%s', (_, text, expected) => {
    expect(parseReply(llama3, text)).toEqual({ malformedToolCalls: 0, ...expected });
  });

  test.each([
    '{"name": "calc", "parameters": {"a": ',
    '<|python_tag|>print(1)',
    '<|python_tag|>{"name": 1}',
    '<|python_tag|>',
  ])('%s stays in the content and is counted', (text) => {
    expect(parseReply(llama3, text)).toEqual({ content: text, toolCalls: [], malformedToolCalls: 1 });
  });

  test('an answer in JSON streams as it comes', () => {
    const parser = createReplyStreamParser(llama3, String);
    expect(parser.push('{"answer": [1,')).toEqual([{ type: 'content', text: '{"answer": [1,' }]);
  });
});

test('content streams as soon as it is certain', () => {
  const parser = createReplyStreamParser(hermes, (index) => `call_${index}`);
  expect(parser.push('Hello wor')).toEqual([{ type: 'content', text: 'Hello wor' }]);
  expect(parser.push('ld <tool')).toEqual([{ type: 'content', text: 'ld' }]);
  expect(parser.push('box>')).toEqual([{ type: 'content', text: ' <toolbox>' }]);
  expect(parser.push(`\n${call}`)).toEqual([{ type: 'tool_call', index: 0, toolCall: { id: 'call_0', ...read } }]);
});

describe('undecided text is read once, however long it stays so (reading it again with each piece would take minutes here)', () => {
  const length = 200_000;

  test.each<readonly [string, ReplyFormat, string, string, string]>([
    ['newlines', hermes, '', '\n', ''],
    ['newlines after text', hermes, 'a', '\n', 'b'],
    ['newlines in thinking', open, 'a', '\n', 'b</think>'],
    ['a long argument', hermes, '<tool_call>{"name": "f", "arguments": {"a": "', 'x', '"}}</tool_call>'],
    [
      'closing tags in an argument',
      hermes,
      '<tool_call>{"name": "f", "arguments": {"a": "',
      '</tool_call>',
      '"}}</tool_call>',
    ],
    ['a long call of Llama 3', llama3, '{"name": "f", "parameters": {"a": "', 'x', '"}}'],
    ['space in a call of Llama 3', llama3, '{', ' ', '"name": "f", "parameters": {}}'],
    [
      'space between calls of Llama 3',
      llama3,
      '{"name": "f", "parameters": {}}',
      '; ',
      '{"name": "f", "parameters": {}}',
    ],
  ])('%s', (_, format, before, repeated, after) => {
    const text = before + repeated.repeat(length / repeated.length) + after;
    const parser = createReplyStreamParser(format, String);
    for (const character of text) parser.push(character);
    expect(parser.flush().reply).toEqual(parseReply(format, text));
  });
});

describe('any chunking gives the same message', () => {
  const fragment = fc.oneof(
    fc.string(),
    fc.constantFrom(
      call,
      '<tool_call>',
      '</tool_call>',
      '<think>',
      '</think>',
      '\n',
      ' ',
      '{',
      '}',
      '"',
      '\\',
      '{"name": "x", "parameters": {}}',
      '<|python_tag|>',
      ';',
      '{"name": "calc", "arguments": {"a": "</tool_call>"}}',
    ),
  );
  const chunks = fc.array(fragment, { maxLength: 12 }).chain((parts) => {
    const text = parts.join('');
    return fc.tuple(fc.constant(text), fc.array(fc.nat({ max: text.length }), { maxLength: 8 }));
  });

  test.each([
    ['hermes', hermes],
    ['open thinking', open],
    ['llama3', llama3],
    ['none', none],
  ] as const)('%s', (_, format) => {
    fc.assert(
      fc.property(chunks, ([text, cuts]) => {
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const parser = createReplyStreamParser(format, (index) => `call_${index}`);
        const deltas = bounds.slice(1).flatMap((bound, index) => parser.push(text.slice(bounds[index], bound)));
        const { deltas: last, reply } = parser.flush();
        const all = [...deltas, ...last];
        expect(reply).toEqual(parseReply(format, text));
        expect(concatenate(all, 'content')).toBe(reply.content);
        expect(concatenate(all, 'reasoning')).toBe(reply.reasoning ?? '');
        const calls = all.flatMap((delta) => (delta.type === 'tool_call' ? [delta.toolCall] : []));
        expect(calls).toEqual(reply.toolCalls.map((toolCall, index) => ({ id: `call_${index}`, ...toolCall })));
        for (const { arguments: written } of reply.toolCalls) expect(text).toContain(written);
      }),
      { numRuns: 1000 },
    );
  });
});
