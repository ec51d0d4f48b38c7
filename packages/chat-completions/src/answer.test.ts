import type { ChatDelta, ChatRequest, ChatResponse } from '@agentjet/core';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  type ChatCall,
  type ChatCompletionBody,
  type CompletionChunk,
  completeChat,
  streamChatCompletion,
} from './index.js';

const thought: ChatResponse = {
  id: 'r1',
  model: 'tuned',
  message: {
    role: 'assistant',
    content: '',
    reasoning: 'hm',
    toolCalls: [{ id: 'call_1', name: 'add', arguments: '{"b": 2,  "a":1.0}' }],
  },
  finishReason: 'tool_calls',
  usage: { promptTokens: 7, completionTokens: 2 },
  logprobs: [
    { id: 1, text: 'h', logprob: -0.5 },
    { id: 2, text: '\uFFFD', logprob: -1 },
  ],
};
const deltas: readonly ChatDelta[] = [
  { type: 'reasoning', text: 'hm' },
  { type: 'content', text: 'so' },
  { type: 'tool_call', index: 0, toolCall: { id: 'call_1', name: 'add', arguments: '{"b": 2,  "a":1.0}' } },
];
const body: ChatCompletionBody = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const wireCall = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"b": 2,  "a":1.0}' } };

/**
 * Opens a call. Each choice gets the deltas, and then the answer that `generate` makes from the index of the choice.
 */
function openCall(
  generate: (index: number) => Promise<ChatResponse> = async () => thought,
  reported: NonNullable<ChatResponse['logprobs']> = [],
) {
  const requests: ChatRequest[] = [];
  const reasons: string[] = [];
  /** The tokens that the model has reported with its first deltas. */
  const tokens = [...reported];
  const call: ChatCall = {
    requestId: (choice) => `id-${choice}`,
    cancel: (reason) => void reasons.push(reason),
    generate: async (request, listeners) => {
      const response = await generate(requests.push(request) - 1);
      for (const delta of listeners === undefined ? [] : deltas) {
        const next = tokens.shift();
        if (next !== undefined) listeners?.onTokens?.([next]);
        listeners?.onDelta(delta);
      }
      return response;
    },
  };
  return { call, requests, reasons };
}

async function streamed(
  asked: ChatCompletionBody,
  call: ChatCall = openCall().call,
): Promise<readonly CompletionChunk[]> {
  const chunks: CompletionChunk[] = [];
  await streamChatCompletion(call, asked, 'tuned', (chunk) => chunks.push(chunk));
  return chunks;
}

describe('a completion', () => {
  it('is one of OpenAI’s, with the exact text of the arguments, and the thinking', async () => {
    const completion: OpenAI.ChatCompletion = await completeChat(openCall().call, body, 'tuned');
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      created: expect.closeTo(Date.now() / 1000, -2),
      model: 'tuned',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, refusal: null, reasoning_content: 'hm', tool_calls: [wireCall] },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 2,
        total_tokens: 9,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    });
  });

  it('says how many of its tokens are thinking', async () => {
    const texts = ['<think>', '\n', 'long', ' thought', '\n', '</think>', 'so', '<end>'];
    const logprobs = texts.map((text, id) => ({ id, text, logprob: -1 }));
    const message = { role: 'assistant', content: 'so', reasoning: 'long thought' } as const;
    const { usage } = await completeChat(openCall(async () => ({ ...thought, message, logprobs })).call, body, 'tuned');
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(4);
  });

  it('has an empty text, not none, if the model said nothing', async () => {
    const { choices } = await completeChat(
      openCall(async () => ({ ...thought, message: { role: 'assistant', content: '' } })).call,
      body,
      'tuned',
    );
    expect(choices[0]?.message).toEqual({ role: 'assistant', content: '', refusal: null });
  });

  it('has logprobs if they are asked for and known, and null for the bytes of a token that is a part of a character', async () => {
    const asked = { ...body, logprobs: true };
    const { choices } = await completeChat(openCall().call, asked, 'tuned');
    expect(choices[0]?.logprobs?.content).toEqual([
      { token: 'h', logprob: -0.5, bytes: [104], top_logprobs: [] },
      { token: '\uFFFD', logprob: -1, bytes: null, top_logprobs: [] },
    ]);
    const { logprobs: _none, ...external } = thought;
    expect((await completeChat(openCall(async () => external).call, asked, 'debug')).choices[0]?.logprobs).toBeNull();
  });

  it('has n answers, each a separate call, for one prompt', async () => {
    const { call, requests } = openCall();
    const { choices, usage } = await completeChat(call, { ...body, n: 3 }, 'tuned');
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(requests.map(({ requestId }) => requestId)).toEqual(['id-0', 'id-1', 'id-2']);
    expect(usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 6, total_tokens: 13 });
  });
});

describe('a stream', () => {
  it('is of OpenAI’s chunks: a role, what the model says as it says it, and why it ended', async () => {
    const chunks = (await streamed(body)) as readonly OpenAI.ChatCompletionChunk[];
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'hm' },
      { content: 'so' },
      { tool_calls: [{ index: 0, ...wireCall, function: { name: 'add', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"b": 2,  "a":1.0}' } }] },
      {},
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([...Array(5).fill(null), 'tool_calls']);
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      model: 'tuned',
      choices: [{ index: 0, logprobs: null }],
    });
  });

  it('has the arguments of a call in pieces, and the logprobs of tokens with what they say', async () => {
    const args = JSON.stringify({ text: 'long '.repeat(20), emoji: '\u{1F600}'.repeat(30) });
    const toolCall = { id: 'call_1', name: 'add', arguments: args };
    const call: ChatCall = {
      ...openCall().call,
      generate: async (_request, listeners) => {
        listeners?.onDelta({ type: 'tool_call', index: 0, toolCall });
        return thought;
      },
    };
    const pieces = (await streamed(body, call)).flatMap(({ choices }) => choices[0]?.delta ?? []);
    const calls = pieces.flatMap((delta) => ('tool_calls' in delta ? (delta.tool_calls ?? []) : []));
    const texts = calls.flatMap((piece) => ('function' in piece ? piece.function.arguments : []));
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.join('')).toBe(args);
    expect(texts.every((text) => !/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/.test(text))).toBe(true);
    const [first] = thought.logprobs ?? [];
    const reported = openCall(async () => thought, first === undefined ? [] : [first]);
    const chunks = await streamed({ ...body, logprobs: true }, reported.call);
    const logprobs = chunks.map(({ choices }) => choices[0]?.logprobs?.content.map(({ token }) => token));
    expect(logprobs).toEqual([undefined, ['h'], undefined, undefined, undefined, ['\uFFFD']]);
  });

  it('ends with the usage of all answers if that is asked for', async () => {
    const chunks = await streamed({ ...body, n: 2, logprobs: true, stream_options: { include_usage: true } });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 },
    });
    const ends = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.finish_reason !== null);
    expect(ends.map(({ index, logprobs }) => [index, logprobs?.content.length])).toEqual([
      [0, 2],
      [1, 2],
    ]);
  });

  it('sends nothing if the call fails before its first token', async () => {
    const chunks: CompletionChunk[] = [];
    const { call } = openCall(async () => Promise.reject(new Error('device lost')));
    await expect(streamChatCompletion(call, body, 'tuned', (chunk) => chunks.push(chunk))).rejects.toThrow(
      'device lost',
    );
    expect(chunks).toEqual([]);
  });
});

it.each([completeChat, async (call: ChatCall, asked: ChatCompletionBody) => streamed(asked, call)])(
  'if one of several answers fails, the others are ended (%#)',
  async (run) => {
    const { call, reasons } = openCall(async (index) =>
      index === 1 ? Promise.reject(new Error('device lost')) : thought,
    );
    await expect(run(call, { ...body, n: 3 }, 'tuned')).rejects.toThrow('device lost');
    expect(reasons).toHaveLength(1);
  },
);
