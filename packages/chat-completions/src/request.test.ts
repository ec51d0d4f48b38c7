import { expect, it } from 'vitest';
import { chatCompletionSchema, parseBody, toChatRequest } from './index.js';

const parameters = { type: 'object', properties: { a: { type: 'number' } } };
const convert = (body: object) =>
  toChatRequest(
    parseBody('chat', chatCompletionSchema, { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }),
  );

it('messages of all roles, with their calls and their thinking', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"b": 2,  "a":1.0}' } };
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: 'And polite.' },
    { role: 'user', content: '1+2?', name: 'anna' },
    { role: 'assistant', content: null, refusal: null, reasoning_content: 'hm', tool_calls: [call] },
    { role: 'tool', content: '3', tool_call_id: 'call_1' },
    { role: 'assistant', content: 'Three.', reasoning: 'so', tool_calls: null },
    { role: 'user', content: 'Thanks.', name: null },
  ];
  expect(convert({ messages }).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'system', content: 'And polite.' },
    { role: 'user', content: '1+2?', name: 'anna' },
    {
      role: 'assistant',
      content: '',
      reasoning: 'hm',
      toolCalls: [{ id: 'call_1', name: 'add', arguments: '{"b": 2,  "a":1.0}' }],
    },
    { role: 'tool', content: '3', toolCallId: 'call_1' },
    { role: 'assistant', content: 'Three.', reasoning: 'so' },
    { role: 'user', content: 'Thanks.' },
  ]);
});

it('parts of text are one text, a refusal too; the Agents SDK sends null for the other', () => {
  const parts = [
    { type: 'text', text: 'a', refusal: null },
    { type: 'text', text: 'b' },
  ];
  const messages = [
    { role: 'user', content: parts },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
  ];
  expect(convert({ messages }).messages.map(({ content }) => content)).toEqual(['ab', 'No.']);
});

it.each(['image_url', 'input_audio', 'file', 'text'])(
  'a part of type %s without text is refused by its type',
  (type) => {
    const send = () =>
      convert({
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type, [type]: {} },
            ],
          },
        ],
      });
    if (type === 'text') expect(send).toThrow(/'messages\[0\]\.content\[1\]\.text' is an object; expected string/);
    else
      expect(send).toThrow(
        expect.objectContaining({
          status: 400,
          code: 'unsupported_content',
          parameter: 'messages',
          message: expect.stringContaining(`'${type}'`),
        }),
      );
  },
);

it('sampling, of which max_completion_tokens is the newer name', () => {
  const sampling = {
    temperature: 0,
    top_p: 0.9,
    top_k: -1,
    max_tokens: 7,
    max_completion_tokens: 9,
    stop: 'X',
    seed: 0,
  };
  expect(convert(sampling).sampling).toEqual({
    temperature: 0,
    topP: 0.9,
    topK: -1,
    maxTokens: 9,
    stop: ['X'],
    seed: 0,
  });
  expect(convert({ max_tokens: 7, stop: ['a', 'b'] }).sampling).toEqual({ maxTokens: 7, stop: ['a', 'b'] });
  expect(convert({}).sampling).toEqual({});
});

it('tools, how they may be called, and the form of the answer', () => {
  const tools = [
    { type: 'function', function: { name: 'add', description: 'Adds.', parameters, strict: true } },
    { type: 'function', function: { name: 'wait', description: null } },
  ];
  expect(convert({ tools, tool_choice: 'required', parallel_tool_calls: false })).toMatchObject({
    tools: [
      { name: 'add', description: 'Adds.', parameters },
      { name: 'wait', parameters: { type: 'object', properties: {} } },
    ],
    toolChoice: 'required',
    parallelToolCalls: false,
  });
  expect(convert({ tools, tool_choice: { type: 'function', function: { name: 'add' } } }).toolChoice).toEqual({
    name: 'add',
  });
  expect(convert({ response_format: { type: 'json_object' } }).responseFormat).toEqual({ type: 'json_object' });
  expect(
    convert({
      response_format: { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema: parameters } },
    }).responseFormat,
  ).toEqual({ type: 'json_schema', name: 'sum', schema: parameters });
  expect(Object.keys(convert({ tools: [], parallel_tool_calls: true }))).toEqual(['messages', 'sampling']);
});

it.each([
  [
    { type: 'json_object', schema: { a: 1 } },
    { type: 'json_schema', name: 'answer', schema: { a: 1 } },
  ],
  [
    { type: 'json_schema', schema: { a: 1 } },
    { type: 'json_schema', name: 'answer', schema: { a: 1 } },
  ],
  [
    { type: 'json_schema', json_schema: { name: 'n', description: 'd', schema: { a: 1 } } },
    { type: 'json_schema', name: 'n', description: 'd', schema: { a: 1 } },
  ],
  [{ type: 'json_object' }, { type: 'json_object' }],
  [{ type: 'text' }, { type: 'text' }],
])('response_format %j keeps its schema and its description', (response_format, expected) => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], response_format };
  expect(toChatRequest(parseBody('chat', chatCompletionSchema, body)).responseFormat).toEqual(expected);
});

it('a json_schema without a schema is refused by name', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], response_format: { type: 'json_schema' } };
  expect(() => parseBody('chat', chatCompletionSchema, body)).toThrow(
    /Missing required parameter: 'response_format.json_schema'/,
  );
});
