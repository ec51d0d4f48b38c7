import type { ChatDelta } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createChatTokenizer } from '../index.js';
import { createChatTokenizerFiles } from '../testing.js';

const tools = ['get_weather', 'get_time'].map((name) => ({ name, parameters: { type: 'object' } }));
const open = (toolCalls: 'strict' | 'lenient', family: 'chatml' | 'qwen3' | 'llama3' | 'plain' = 'chatml') =>
  createChatTokenizer({ ...createChatTokenizerFiles(family), toolCalls }).template;

const weather = '{"name": "get_weather", "arguments": {"city":  "Paris"}}';
const time = '{"name": "get_time", "arguments": {}}';
const calls = {
  weather: { name: 'get_weather', arguments: '{"city":  "Paris"}' },
  time: { name: 'get_time', arguments: '{}' },
};

/** Answers that consist of calls without tags, each with these calls. */
const untagged = [
  [weather, [calls.weather]],
  [`\n${weather}\n`, [calls.weather]],
  [`\`\`\`json\n${weather}\n\`\`\``, [calls.weather]],
  [`\`\`\`\n${weather}\n\`\`\``, [calls.weather]],
  [`[${weather}, ${time}]`, [calls.weather, calls.time]],
  [`\`\`\`json\n[\n  ${weather},\n  ${time}\n]\n\`\`\``, [calls.weather, calls.time]],
  [`${weather}\n${time}`, [calls.weather, calls.time]],
  ['{"name": "get_weather", "parameters": {"city":  "Paris"}}', [calls.weather]],
] as const;

/** Answers that do not consist only of valid calls to the offered tools. */
const others = [
  `Sure! ${weather}`,
  `${weather} is what I would call.`,
  '{"name": "get_rain", "arguments": {}}',
  `[${weather}, {"name": "get_rain", "arguments": {}}]`,
  `[${weather},]`,
  '{"city": "Paris"}',
  '{"name": "get_weather"}',
  '{"name": "get_weather", "arguments": {"city": "Par',
  '[1, 2]',
  '[]',
  '```json\n{"a": 1}\n```',
  '```python\nprint(1)\n```',
  `\`\`\`json\n${weather}\n\`\`\`\nThat is the call.`,
  '`',
  '',
];

describe('lenient', () => {
  it.each(untagged)('reads %j', (text, found) => {
    const reply = open('lenient').parse(text, { tools });
    expect(reply).toEqual({ content: '', toolCalls: found, malformedToolCalls: 0, written: text });
  });

  it.each(others)('leaves %j as it is', (text) => {
    expect(open('lenient').parse(text, { tools }).content).toBe(text);
    expect(open('lenient').parse(text, { tools }).toolCalls).toEqual([]);
  });

  it('reads the same however an answer is cut into pieces', () => {
    const template = open('lenient');
    for (const text of [...untagged.map(([answer]) => answer), ...others])
      for (const pieces of [text.split(''), ...Array.from(text, (_, at) => [text.slice(0, at), text.slice(at)])]) {
        const parser = template.createStreamParser(String, { tools });
        const deltas: ChatDelta[] = pieces.flatMap((piece) => parser.push(piece));
        const { deltas: last, reply } = parser.flush();
        expect(reply).toEqual(template.parse(text, { tools }));
        const said = [...deltas, ...last].flatMap((delta) => (delta.type === 'content' ? [delta.text] : []));
        expect(said.join('')).toBe(reply.content);
      }
  });

  it('streams text that cannot become calls at once', () => {
    const parser = open('lenient').createStreamParser(String, { tools });
    expect(parser.push('Hello')).toEqual([{ type: 'content', text: 'Hello' }]);
  });

  it('reads calls with their tags, as ever', () => {
    const reply = open('lenient').parse(`Well.\n<tool_call>\n${weather}\n</tool_call>`, { tools });
    expect(reply).toEqual({ content: 'Well.', toolCalls: [calls.weather], malformedToolCalls: 0 });
  });

  it('reads nothing if the request has no tools', () => {
    expect(open('lenient').parse(weather)).toEqual({ content: weather, toolCalls: [], malformedToolCalls: 0 });
  });

  it('reads calls after thinking', () => {
    const reply = open('lenient', 'qwen3').parse(`<think>\nHm.\n</think>\n\n${weather}`, { tools });
    expect(reply).toMatchObject({ reasoning: 'Hm.', toolCalls: [calls.weather], written: weather });
  });

  it.each(['chatml', 'qwen3', 'llama3', 'plain'] as const)(
    'reads fenced calls of a model of the family %s',
    (family) => {
      expect(open('lenient', family).parse(`\`\`\`json\n${weather}\n\`\`\``, { tools }).toolCalls).toEqual([
        calls.weather,
      ]);
    },
  );
});

describe('strict', () => {
  it.each(untagged)('leaves %j in the content, and counts it', (text, { length }) => {
    const reply = open('strict').parse(text, { tools });
    expect(reply).toEqual({ content: text, toolCalls: [], malformedToolCalls: 0, untaggedToolCalls: length });
  });

  it.each(others)('does not count %j', (text) => {
    expect(open('strict').parse(text, { tools }).untaggedToolCalls).toBeUndefined();
  });
});

describe('a call that nothing reads', () => {
  const call = '<function=get_time>\n<parameter=city>\nParis\n</parameter>\n</function>';
  it.each([
    ['chatml', `${weather}\n</tool_call>`],
    ['chatml', '{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}'],
    ['chatml', '```json\n{"name": "get_weather"}\n```'],
    ['chatml', '{"type": "function", "function": {"name": "get_weather", "arguments": {}}}'],
    ['chatml', call],
    ['qwen3', `[TOOL_CALLS][${weather}, x]`],
    ['plain', `${call}\n</tool_call>`],
    ['llama3', `<tool_call>\n${weather}\n</tool_call>`],
  ] as const)('of %s is counted: %j', (family, text) => {
    for (const setting of ['strict', 'lenient'] as const)
      expect(open(setting, family).parse(text, { tools })).toMatchObject({ content: text, malformedToolCalls: 1 });
  });

  it('of a Qwen3-Coder that leaves out the first tag is counted', () => {
    const { template } = createChatTokenizer(createChatTokenizerFiles('qwen3_coder'));
    expect(template.parse(`${call}\n</tool_call>`, { tools }).malformedToolCalls).toBe(1);
    expect(template.parse(call, { tools }).malformedToolCalls).toBe(1);
  });

  it.each(['{"name": "Paris"}', 'Use <function=other> here.', '{"function": "sum"}', 'It rains.'])(
    'is not an answer such as %j',
    (text) => expect(open('strict').parse(text, { tools }).malformedToolCalls).toBe(0),
  );

  it('is not counted in a request without tools', () => {
    expect(open('strict', 'llama3').parse('<tool_call>').malformedToolCalls).toBe(0);
  });
});
