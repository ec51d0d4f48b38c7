import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatCompletionSchema, parseBody, ApiError } from './index.js';

const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

function refusalOf(body: unknown): ApiError {
  try {
    parseBody('chat', chatCompletionSchema, body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('The body was accepted.');
}

describe('a body', () => {
  it.each([
    ['model', { model: undefined }],
    ['messages', { messages: undefined }],
    ['messages', { messages: null }],
    ['messages[0].role', { messages: [{ content: 'hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[1].tool_call_id', { messages: [...ask.messages, { role: 'tool', content: 'x' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'hi' }] }] }],
    [
      'messages[0].tool_calls[0].function',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'x', type: 'function' }] }] },
    ],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tool_choice.function', { tool_choice: { type: 'function' } }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ])('without %s is refused by the name of what is missing', (parameter, wrong) => {
    expect(refusalOf({ ...ask, ...wrong })).toMatchObject({
      status: 400,
      code: 'missing_required_parameter',
      parameter,
      message: `Missing required parameter: '${parameter}'.`,
    });
  });

  it.each([
    ['messages', { messages: 'hi' }, 'is "hi"; expected array'],
    ['messages', { messages: [] }, 'is a list; expected array to have >=1 items'],
    ['messages[0]', { messages: [null] }, 'is null; expected object'],
    [
      'messages[0].role',
      { messages: [{ role: 'critic', content: 'hi' }] },
      `is "critic"; expected 'assistant' | 'system'`,
    ],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }, 'is 5; expected string, or array'],
    ['messages[0].content', { messages: [{ role: 'user', content: null }] }, 'is null; expected string, or array'],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: ['hi'] }] }, 'is "hi"; expected object'],
    [
      'messages[0].tool_calls[0].type',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'x', type: 'custom', function: { name: 'f', arguments: '' } }] },
        ],
      },
      'is "custom"; expected "function"',
    ],
    ['temperature', { temperature: 'hot' }, 'is "hot"; expected number'],
    ['temperature', { temperature: -1 }, 'is -1; expected number to be >=0'],
    ['top_p', { top_p: 0 }, 'is 0; expected number to be >0'],
    ['top_k', { top_k: -5 }, 'is -5; expected number to be >=-1'],
    ['max_tokens', { max_tokens: 0 }, 'is 0; expected number to be >0'],
    ['max_completion_tokens', { max_completion_tokens: 1.5 }, 'is 1.5; expected int'],
    ['seed', { seed: 0.5 }, 'is 0.5; expected int'],
    ['n', { n: '2' }, 'is "2"; expected number'],
    ['n', { n: 129 }, 'is 129; expected number to be <=128'],
    ['stop', { stop: 5 }, 'is 5; expected string, or array'],
    ['stop', { stop: '' }, 'is ""; expected string to have >=1 characters'],
    [
      'stop',
      { stop: Array.from({ length: 17 }, () => 'a') },
      'is a list; expected string, or array to have <=16 items',
    ],
    ['stop[1]', { stop: ['a', ''] }, 'is ""; expected string to have >=1 characters'],
    ['stream', { stream: 'yes' }, 'is "yes"; expected boolean'],
    ['tools', { tools: {} }, 'is an object; expected array'],
    [
      'tools[0].type',
      { tools: [{ type: 'mcp', function: { name: 'f' } }] },
      `is "mcp"; expected 'function' | 'custom'`,
    ],
    ['tool_choice', { tool_choice: 'maybe' }, 'is "maybe"; expected one of "auto"|"none"|"required", or object'],
    [
      'response_format.type',
      { response_format: { type: 'xml' } },
      `is "xml"; expected 'text' | 'json_object' | 'json_schema'`,
    ],
    ['user', { user: ['a'] }, 'is a list; expected string'],
    ['logit_bias', { logit_bias: { 5: 1 } }, 'is not supported by this model; leave it out or send {}'],
    ['top_logprobs', { logprobs: true, top_logprobs: 3 }, 'is not supported by this model; leave it out or send 0'],
    ['modalities', { modalities: ['audio'] }, 'is not supported by this model; leave it out or send ["text"]'],
  ])('with a wrong %s is refused by its name, the value and what it could be', (parameter, wrong, words) => {
    expect(refusalOf({ ...ask, ...wrong })).toMatchObject({
      status: 400,
      code: 'invalid_value',
      parameter,
      message: expect.stringContaining(`'${parameter}' ${words}`),
    });
  });

  it.each(['made_up', 'functions', 'constructor'])(
    'with the parameter %s, which could not be honoured, is refused by its name',
    (parameter) => {
      expect(refusalOf({ ...ask, [parameter]: 'x' })).toMatchObject({
        status: 400,
        code: 'unsupported_parameter',
        parameter,
        message: expect.stringContaining(`'${parameter}'`),
      });
    },
  );

  it.each([
    [[1, 2], 'is a list'],
    [null, 'is null'],
    ['{}', 'is "{}"'],
    [nested(50_000), 'is a list'],
  ])('that is not an object is refused (%#)', (body, words) => {
    expect(refusalOf(body)).toMatchObject({
      status: 400,
      parameter: undefined,
      message: `Invalid value: The request body ${words}; expected object.`,
    });
  });

  it.each(['messages', 'temperature', 'logit_bias', 'tool_choice'])(
    'with a %s nested deeper than any stack is refused in a few words',
    (parameter) => {
      const refusal = refusalOf({ ...ask, [parameter]: nested(50_000) });
      expect(refusal.parameter).toMatch(new RegExp(`^${parameter}`));
      expect(refusal.message.length).toBeLessThan(200);
    },
  );

  it('may say null for what it leaves out, known or not', () => {
    const nulls = {
      temperature: null,
      tools: null,
      n: null,
      stop: null,
      stream: null,
      stream_options: null,
      logit_bias: null,
      reasoning_effort: null,
    };
    expect(parseBody('chat', chatCompletionSchema, { ...ask, ...nulls })).toEqual(ask);
  });

  it('may have labels, and parameters at the value that changes nothing', () => {
    const labels = {
      user: 'u',
      metadata: { a: 'b' },
      store: true,
      service_tier: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
    };
    const neutral = {
      frequency_penalty: 0,
      presence_penalty: 0,
      logit_bias: {},
      top_logprobs: 0,
      modalities: ['text'],
    };
    expect(parseBody('chat', chatCompletionSchema, { ...ask, ...labels, ...neutral })).toEqual({
      ...ask,
      ...labels,
    });
  });
});

it('where several forms were possible, what is wrong with the nearest one is said', () => {
  const schema = z.strictObject({
    item: z.union([z.object({ type: z.literal('a'), to: z.object({ x: z.number() }) }), z.string()]),
  });
  expect(() => parseBody('chat', schema, { item: { type: 'a', to: { x: 'far' } } })).toThrow(
    `Invalid value: 'item.to.x' is "far"; expected number.`,
  );
});
