import { spawnSync } from 'node:child_process';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { type ChatDelta, type ChatModel, type ChatRequest, type ChatResponse, EngineError } from '@agentjet/core';
import type { OpenAIEndpoint } from '@agentjet/rollout';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startEndpointServer, type EndpointServer } from './index.js';

type Script = (
  request: ChatRequest,
  signal: AbortSignal | undefined,
  emit: (delta: ChatDelta) => void,
) => Promise<Partial<ChatResponse>>;

/** A small real ChatModel that gives scripted answers and keeps its requests. */
function createScriptedModel(script: Script): ChatModel & { readonly requests: ChatRequest[] } {
  const requests: ChatRequest[] = [];
  return {
    name: 'scripted',
    requests,
    async generate(request, options) {
      requests.push(request);
      const answer = await script(request, options?.signal, options?.onDelta ?? (() => undefined));
      return {
        id: 'r1',
        model: 'scripted',
        message: { role: 'assistant', content: 'hello' },
        finishReason: 'stop',
        usage: { promptTokens: 7, completionTokens: 2 },
        ...answer,
      };
    },
  };
}

const tool = {
  type: 'function' as const,
  function: { name: 'add', description: 'adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } },
};
const oddArguments = '{"b": 2,  "a":1.0}';
const callingAnswer = {
  message: {
    role: 'assistant' as const,
    content: '',
    toolCalls: [{ id: 'call_1', name: 'add', arguments: oddArguments }],
  },
  finishReason: 'tool_calls' as const,
};

let server: EndpointServer;
let episode: AbortController;

beforeEach(async () => {
  server = await startEndpointServer({ graceMs: 300, heartbeatMs: 50, maxBodyBytes: 20_000 });
  episode = new AbortController();
});
afterEach(() => server.close());

async function open(script: Script = async () => ({})) {
  const model = createScriptedModel(script);
  const access = server.open({ episodeId: 'e1', agentName: 'solver', model, signal: episode.signal });
  return {
    model,
    access,
    openai: new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 }),
    anthropic: toAnthropic(access),
  };
}
const toAnthropic = ({ baseUrl, apiKey }: OpenAIEndpoint) =>
  new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0 });
const user = (content: string) => [{ role: 'user' as const, content }];

describe('an address that is not quite right', () => {
  it.each([
    ['/chat/completions', 'The address lacks /v1 at its end: use /v1/chat/completions.'],
    ['/models', 'The address lacks /v1 at its end: use /v1/models.'],
    ['/v1/v1/messages', 'The address has /v1 twice: use /v1/messages.'],
    ['/api/responses', 'The address lacks /v1 at its end: use /api/v1/responses.'],
    ['/v1/nothing', 'The APIs are under /v1: chat/completions'],
  ])('%s hears of it', async (path, advice) => {
    const { access } = await open();
    const response = await fetch(new URL(path, access.baseUrl), { headers: { 'x-api-key': access.apiKey } });
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining(advice)]);
  });
});

describe('chat completions, with the openai SDK', () => {
  it('passes messages, tools and sampling on, and brings argument text back untouched', async () => {
    const { openai, model } = await open(async () => callingAnswer);
    const completion = await openai.chat.completions.create({
      model: 'm',
      messages: user('1+2?'),
      tools: [tool],
      temperature: 0.3,
      top_p: 0.9,
      max_tokens: 9,
      stop: 'X',
      seed: 4,
    });
    expect(completion.choices[0]?.message.tool_calls).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'add', arguments: oddArguments } },
    ]);
    expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
    expect(completion.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 });
    expect(model.requests[0]).toMatchObject({
      messages: user('1+2?'),
      tools: [{ name: 'add', description: 'adds' }],
      sampling: { temperature: 0.3, topP: 0.9, maxTokens: 9, stop: ['X'], seed: 4 },
    });
  });

  it('streams deltas while the model still writes', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { openai } = await open(async (_request, _signal, emit) => {
      emit({ type: 'reasoning', text: 'hm' });
      emit({ type: 'content', text: 'he' });
      await gate;
      emit({ type: 'content', text: 'llo' });
      return {};
    });
    const stream = await openai.chat.completions.create({
      model: 'm',
      messages: user('hi'),
      stream: true,
      stream_options: { include_usage: true },
    });
    let content = '';
    for await (const chunk of stream) {
      content += chunk.choices[0]?.delta.content ?? '';
      if (content === 'he') release();
      if (chunk.usage) expect(chunk.usage.completion_tokens).toBe(2);
    }
    expect(content).toBe('hello');
  });

  it('samples n answers with a request id each', async () => {
    const { openai, model } = await open();
    const completion = await openai.chat.completions.create({ model: 'm', messages: user('hi'), n: 3 });
    expect(completion.choices).toHaveLength(3);
    expect(new Set(model.requests.map(({ requestId }) => requestId)).size).toBe(3);
  });

  it.each([
    ['logit_bias', { logit_bias: { '5': 1 } }],
    ['top_logprobs', { logprobs: true, top_logprobs: 3 }],
    ['presence_penalty', { presence_penalty: 0.5 }],
    ['made_up', { made_up: 1 }],
  ])('refuses %s by name', async (name, extra) => {
    const { openai } = await open();
    await expect(openai.chat.completions.create({ model: 'm', messages: user('hi'), ...extra })).rejects.toMatchObject({
      status: 400,
      param: name,
    });
  });

  it('says context_length_exceeded with 400, and engine trouble with 500', async () => {
    const overflowing = await open(async () =>
      Promise.reject(new EngineError('context_overflow', 'The prompt has 9000 tokens.')),
    );
    await expect(
      overflowing.openai.chat.completions.create({ model: 'm', messages: user('hi') }),
    ).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    const broken = await open(async () => Promise.reject(new Error('boom')));
    await expect(broken.openai.chat.completions.create({ model: 'm', messages: user('hi') })).rejects.toMatchObject({
      status: 500,
    });
  });

  it('keeps a long wait alive and still parses', async () => {
    const { openai } = await open(async () => new Promise((resolve) => setTimeout(() => resolve({}), 600)));
    const completion = await openai.chat.completions.create({ model: 'm', messages: user('hi') });
    expect(completion.choices[0]?.message.content).toBe('hello');
  });

  it.each([true, false])('cancels the model when the client goes away (stream: %s)', async (stream) => {
    let cancelled: (reason: unknown) => void = () => undefined;
    const aborted = new Promise((resolve) => {
      cancelled = resolve;
    });
    const client = new AbortController();
    const { access } = await open(async (_request, signal) => {
      setTimeout(() => client.abort(), 100);
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      cancelled('cancelled');
      throw new EngineError('aborted', 'aborted');
    });
    const request = fetch(`${access.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access.apiKey}` },
      body: JSON.stringify({ model: 'm', messages: user('hi'), stream }),
      signal: client.signal,
    });
    await request.then((response) => response.text()).catch(() => undefined);
    expect(await aborted).toBe('cancelled');
  });

  it('gives a retried body the id of its first call, and a repeated call a new one', async () => {
    const { access, model } = await open();
    const post = (retry: string) =>
      fetch(`${access.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${access.apiKey}`, 'x-stainless-retry-count': retry },
        body: JSON.stringify({ model: 'm', messages: user('hi') }),
      });
    await post('0');
    await post('1');
    await post('0');
    const [first, retried, repeated] = model.requests.map(({ requestId }) => requestId);
    expect(retried).toBe(first);
    expect(repeated).not.toBe(first);
  });

  it('answers plain curl', async () => {
    const { access } = await open();
    const body = JSON.stringify({ model: 'm', messages: user('hi') });
    // curl runs asynchronously, because this event loop has to answer it.
    const { spawn } = await import('node:child_process');
    if (spawnSync('curl', ['--version']).status !== 0) return;
    const child = spawn('curl', [
      '-sS',
      `${access.baseUrl}/chat/completions`,
      '-H',
      `Authorization: Bearer ${access.apiKey}`,
      '-d',
      body,
    ]);
    let output = '';
    for await (const chunk of child.stdout) output += String(chunk);
    expect(JSON.parse(output)).toMatchObject({ choices: [{ message: { content: 'hello' } }] });
  });
});

describe('keys', () => {
  it('refuses a missing, foreign or tampered key with 401', async () => {
    const { access } = await open();
    const tampered = `${access.apiKey.slice(0, -2)}xx`;
    for (const apiKey of ['sk-other', tampered]) {
      const client = new OpenAI({ baseURL: access.baseUrl, apiKey, maxRetries: 0 });
      await expect(client.models.list()).rejects.toMatchObject({ status: 401 });
    }
  });

  it('answers 410 after the episode has ended', async () => {
    const { openai } = await open();
    await expect(openai.models.list()).resolves.toMatchObject({ data: [{ id: 'scripted' }] });
    episode.abort();
    await expect(openai.chat.completions.create({ model: 'm', messages: user('hi') })).rejects.toMatchObject({
      status: 410,
    });
  });

  it('answers 413 to a body over the limit, 400 to broken JSON and 404 to an unknown path', async () => {
    const { openai, access } = await open();
    await expect(
      openai.chat.completions.create({ model: 'm', messages: user('x'.repeat(30_000)) }),
    ).rejects.toMatchObject({ status: 413 });
    const headers = { authorization: `Bearer ${access.apiKey}` };
    expect((await fetch(`${access.baseUrl}/chat/completions`, { method: 'POST', headers, body: '{' })).status).toBe(
      400,
    );
    expect((await fetch(`${access.baseUrl}/embeddings`, { method: 'POST', headers, body: '{}' })).status).toBe(404);
  });
});

describe('responses, with the openai SDK', () => {
  it('answers, remembers by previous_response_id and carries calls both ways', async () => {
    const { openai, model } = await open(async ({ messages }) => (messages.length === 1 ? callingAnswer : {}));
    const tools = [{ type: 'function' as const, name: 'add', parameters: {}, strict: false }];
    const first = await openai.responses.create({ model: 'm', input: '1+2?', tools });
    expect(first.output).toMatchObject([{ type: 'function_call', call_id: 'call_1', arguments: oddArguments }]);
    const second = await openai.responses.create({
      model: 'm',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: '3' }],
      tools,
    });
    expect(second.output_text).toBe('hello');
    expect(model.requests[1]?.messages).toEqual([
      { role: 'user', content: '1+2?' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'add', arguments: oddArguments }] },
      { role: 'tool', content: '3', toolCallId: 'call_1' },
    ]);
  });

  it('streams the event sequence that the SDK assembles', async () => {
    const { openai } = await open(async (_request, _signal, emit) => {
      emit({ type: 'content', text: 'hel' });
      emit({ type: 'content', text: 'lo' });
      emit({
        type: 'tool_call',
        index: 0,
        toolCall: callingAnswer.message.toolCalls[0] ?? { id: '', name: '', arguments: '' },
      });
      return { ...callingAnswer, message: { ...callingAnswer.message, content: 'hello' } };
    });
    const response = await openai.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
    expect(response.output_text).toBe('hello');
    expect(response.output[1]).toMatchObject({ type: 'function_call', name: 'add', arguments: oddArguments });
    expect(response.status).toBe('completed');
  });

  it('refuses images', async () => {
    const { openai } = await open();
    const image = [
      {
        role: 'user' as const,
        content: [{ type: 'input_image' as const, image_url: 'data:', detail: 'auto' as const }],
      },
    ];
    await expect(openai.responses.create({ model: 'm', input: image })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_content',
      param: 'input',
    });
  });
});

describe('messages, with the Anthropic SDK', () => {
  it('maps system, tool use and tool results both ways', async () => {
    const { anthropic, model } = await open(async ({ messages }) => (messages.length === 2 ? callingAnswer : {}));
    const tools = [{ name: 'add', input_schema: { type: 'object' as const } }];
    const first = await anthropic.messages.create({
      model: 'm',
      max_tokens: 50,
      system: 'be brief',
      messages: user('1+2?'),
      tools,
    });
    expect(first.stop_reason).toBe('tool_use');
    expect(first.content).toEqual([{ type: 'tool_use', id: 'call_1', name: 'add', input: { b: 2, a: 1 } }]);
    const results = [{ type: 'tool_result' as const, tool_use_id: 'call_1', content: '3' }];
    await anthropic.messages.create({
      model: 'm',
      max_tokens: 50,
      system: 'be brief',
      messages: [...user('1+2?'), { role: 'assistant', content: first.content }, { role: 'user', content: results }],
      tools,
    });
    expect(model.requests[1]?.messages.slice(2)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'add', arguments: '{"b":2,"a":1}' }] },
      { role: 'tool', content: '3', toolCallId: 'call_1' },
    ]);
  });

  it('names the stop text that ended an answer, whole or streamed', async () => {
    const { anthropic } = await open(async () => ({ stopText: 'END' }));
    const body = { model: 'm', max_tokens: 50, messages: user('hi'), stop_sequences: ['END'] };
    for (const message of [
      await anthropic.messages.create(body),
      await anthropic.messages.stream(body).finalMessage(),
    ]) {
      expect(message).toMatchObject({
        stop_reason: 'stop_sequence',
        stop_sequence: 'END',
        content: [{ text: 'hello' }],
      });
    }
  });

  it('carries arguments that are not an object as text under _raw, and back', async () => {
    const odd = '[1,  2]';
    const { anthropic, model } = await open(async ({ messages }) =>
      messages.length === 1
        ? {
            ...callingAnswer,
            message: { ...callingAnswer.message, toolCalls: [{ id: 'call_1', name: 'add', arguments: odd }] },
          }
        : {},
    );
    const { content } = await anthropic.messages.create({ model: 'm', max_tokens: 50, messages: user('go') });
    expect(content).toMatchObject([{ type: 'tool_use', input: { _raw: odd } }]);
    await anthropic.messages.create({
      model: 'm',
      max_tokens: 50,
      messages: [...user('go'), { role: 'assistant', content }],
    });
    expect(model.requests[1]?.messages[1]).toMatchObject({ toolCalls: [{ arguments: odd }] });
  });

  it('streams text, thinking and tool use', async () => {
    const { anthropic } = await open(async (_request, _signal, emit) => {
      emit({ type: 'reasoning', text: 'hm' });
      emit({ type: 'content', text: 'hello' });
      emit({ type: 'tool_call', index: 0, toolCall: { id: 'call_1', name: 'add', arguments: oddArguments } });
      return { ...callingAnswer, usage: { promptTokens: 7, completionTokens: 5 } };
    });
    const message = await anthropic.messages
      .stream({ model: 'm', max_tokens: 50, messages: user('hi') })
      .finalMessage();
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'hello' },
      { type: 'tool_use', id: 'call_1', input: { a: 1, b: 2 } },
    ]);
    expect(message.usage.output_tokens).toBe(5);
  });

  it.each([false, true])('runs the tool runner of the SDK to its end (stream: %s)', async (stream) => {
    const { anthropic, model } = await open(async ({ messages }) => (messages.length === 1 ? callingAnswer : {}));
    const add = betaZodTool({
      name: 'add',
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    });
    const runner = anthropic.beta.messages.toolRunner({
      model: 'm',
      max_tokens: 50,
      messages: user('1+2?'),
      tools: [add],
      stream,
    });
    expect((await runner.runUntilDone()).content).toMatchObject([{ type: 'text', text: 'hello' }]);
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3]);
  });

  it('has errors in Anthropic form', async () => {
    const { anthropic } = await open(async () => Promise.reject(new EngineError('context_overflow', 'too long')));
    await expect(anthropic.messages.create({ model: 'm', max_tokens: 5, messages: user('hi') })).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error' } },
    });
  });
});

it('streams the answer of a debug model that does not stream', async () => {
  const { openai } = await open(async () => callingAnswer);
  const { choices } = await openai.chat.completions
    .stream({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    .finalChatCompletion();
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { arguments: oddArguments } }] },
  });
});

it('answers legacy completions', async () => {
  const { openai } = await open();
  const completion = await openai.completions.create({ model: 'm', prompt: 'hi' });
  expect(completion.choices[0]?.text).toBe('hello');
});
