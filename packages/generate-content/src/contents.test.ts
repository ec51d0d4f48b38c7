import { expect, it } from 'vitest';
import { findUnshownContents, toMessagesOfContents } from './contents.js';
import { toJsonSchema } from './json-schema.js';
import { toNormalBody } from './normal-body.js';

const user = (text: string) => ({ role: 'user' as const, parts: [{ text }] });

it('pieces of one answer are one message, and its calls keep their ids', () => {
  const messages = toMessagesOfContents([
    user('hi'),
    { role: 'model', parts: [{ text: 'hm', thought: true }] },
    { role: 'model', parts: [{ text: 'one ' }] },
    { role: 'model', parts: [{ text: 'two' }, { functionCall: { id: 'c1', name: 'add', args: { a: 1 } } }] },
  ]);
  expect(messages).toEqual([
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: 'one two',
      reasoning: 'hm',
      toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1}' }],
    },
  ]);
});

it('a result without an id belongs to the first open call of its name', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } });
  const result = (name: string, output: unknown) => ({ functionResponse: { name, response: { output } } });
  const messages = toMessagesOfContents([
    user('hi'),
    { role: 'model', parts: [call('add'), call('look'), call('add')] },
    { role: 'function', parts: [result('look', 'seen'), result('add', 3), result('add', 'four')] },
  ]);
  const ids = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  expect(messages.slice(2)).toEqual([
    { role: 'tool', name: 'look', toolCallId: ids[1]?.id, content: 'seen' },
    { role: 'tool', name: 'add', toolCallId: ids[0]?.id, content: '{"output":3}' },
    { role: 'tool', name: 'add', toolCallId: ids[2]?.id, content: 'four' },
  ]);
});

it('arguments that were not an object come back as the text of the model', () => {
  const [, answer] = toMessagesOfContents([
    user('hi'),
    { role: 'model', parts: [{ functionCall: { name: 'add', args: { _raw: '[1, 2' } } }] },
  ]);
  expect(answer).toMatchObject({ toolCalls: [{ arguments: '[1, 2' }] });
});

it('parts of answers that cannot be shown are listed by their field, each once', () => {
  const image = { inlineData: { data: '' } };
  const answer = { role: 'model' as const, parts: [image, image, { text: 'x', thoughtSignature: 's' }, {}] };
  expect(findUnshownContents([user('hi'), answer])).toEqual(['contents: inlineData']);
});

it('snake case and nulls get one form, but names that belong to the user stay', () => {
  expect(
    toNormalBody({
      system_instruction: { parts: [{ text: 'x' }] },
      generation_config: { max_output_tokens: 5, top_k: null, response_schema: { properties: { my_key: {} } } },
      contents: [{ parts: [{ function_call: { name: 'f', args: { my_key: null } } }] }],
    }),
  ).toEqual({
    systemInstruction: { parts: [{ text: 'x' }] },
    generationConfig: { maxOutputTokens: 5, responseSchema: { properties: { my_key: {} } } },
    contents: [{ parts: [{ functionCall: { name: 'f', args: { my_key: null } } }] }],
  });
});

it('a schema in capitals becomes JSON Schema, and properties may have any name', () => {
  const given = {
    type: 'OBJECT',
    properties: { type: { type: 'STRING', nullable: true, enum: ['A'] }, list: { type: 'ARRAY', minItems: '1' } },
    anyOf: [{ type: 'NUMBER' }],
  };
  const schema = toJsonSchema(given);
  expect(schema).toEqual({
    type: 'object',
    properties: { type: { type: ['string', 'null'], enum: ['A'] }, list: { type: 'array', minItems: 1 } },
    anyOf: [{ type: 'number' }],
  });
  expect(toJsonSchema(schema)).toEqual(schema);
});
