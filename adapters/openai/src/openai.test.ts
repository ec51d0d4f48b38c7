import { openScriptedEpisode, toolCallText, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import { APIError, APIUserAbortError, BadRequestError, InternalServerError, NotFoundError, OpenAI } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel } from './index.js';

const add: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'add',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  },
};
const ask = { model: 'any', messages: [{ role: 'user' as const, content: 'hi' }] };
const thinking = `<think>\nlong hard thought\n</think>\n\nSumming. ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3, "b": 4}')}`;

function openClient(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  return { episode, client: asModel(episode.tuner, { agentName: 'solver' }) };
}

describe('one call', () => {
  it('is an OpenAI client whose answer has usage, finish reason and logprobs', async () => {
    const { client, episode } = openClient(['hello there']);
    expect(client).toBeInstanceOf(OpenAI);
    const completion = await client.chat.completions.create({ ...ask, logprobs: true });
    const tokens = episode.engine.requests[0]?.completion?.ids.length ?? 0;
    expect(completion.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'hello there' },
      finish_reason: 'stop',
    });
    expect(completion.choices[0]?.logprobs?.content).toHaveLength(tokens);
    expect(completion.usage).toMatchObject({
      completion_tokens: tokens,
      prompt_tokens: episode.engine.requests[0]?.request.promptIds.length,
    });
  });

  it('gives parallel tool calls with the exact text of their arguments, and the thinking', async () => {
    const { client } = openClient([thinking]);
    const [choice] = (await client.chat.completions.create({ ...ask, tools: [add] })).choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(choice?.message.tool_calls?.map((made) => made.type === 'function' && made.function.arguments)).toEqual([
      '{"b": 2,  "a":1.0}',
      '{"a": 3, "b": 4}',
    ]);
    expect(choice?.message).toMatchObject({ reasoning_content: expect.stringContaining('long hard thought') });
  });

  it('gives n answers, each with its own seed', async () => {
    const { client, episode } = openClient(['one']);
    expect((await client.chat.completions.create({ ...ask, n: 3 })).choices.map(({ index }) => index)).toEqual([
      0, 1, 2,
    ]);
    expect(new Set(episode.engine.requests.map(({ request }) => request.sampling.seed)).size).toBe(3);
  });

  it('honours sampling, or refuses it by name', async () => {
    const { client, episode } = openClient(['one two STOP three']);
    const completion = await client.chat.completions.create({
      ...ask,
      temperature: 0.5,
      top_p: 0.9,
      max_completion_tokens: 40,
      seed: 9,
      stop: 'STOP',
      frequency_penalty: 0,
    });
    expect(completion.choices[0]?.message.content).toBe('one two ');
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      maxTokens: 40,
      seed: 9,
    });
    await expect(client.chat.completions.create({ ...ask, frequency_penalty: 0.5 })).rejects.toThrow(
      /frequency_penalty/,
    );
    await expect(client.chat.completions.create({ ...ask, top_logprobs: 5 })).rejects.toThrow(/top_logprobs/);
    await expect(client.chat.completions.create({ ...ask, temperature: -1 })).rejects.toThrow(/'temperature' is -1/);
  });

  it('says length for a truncated answer', async () => {
    const { client } = openClient(['far too many words']);
    expect((await client.chat.completions.create({ ...ask, max_tokens: 2 })).choices[0]?.finish_reason).toBe('length');
  });

  it('answers a request with a known idempotency key once', async () => {
    const { client, episode } = openClient(['a', 'b']);
    const options = { headers: { 'idempotency-key': 'k1' } };
    const answers = await Promise.all([
      client.chat.completions.create(ask, options),
      client.chat.completions.create(ask, options),
    ]);
    expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(['a', 'a']);
    expect(episode.finish().samples).toHaveLength(1);
  });
});

describe('a retry', () => {
  it('is known by its idempotency key, which belongs to one request', async () => {
    const { client, episode } = openClient(['a', 'b']);
    const first = await client.chat.completions.create(ask, { idempotencyKey: 'k1' });
    const again = await client.withOptions({ timeout: 9_000 }).chat.completions.create(ask, { idempotencyKey: 'k1' });
    expect([first, again].map(({ choices }) => choices[0]?.message.content)).toEqual(['a', 'a']);
    await expect(client.chat.completions.create({ ...ask, seed: 1 }, { idempotencyKey: 'k1' })).rejects.toMatchObject({
      status: 400,
      code: 'idempotency_key_reused',
    });
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('b');
    expect(episode.finish().samples).toHaveLength(2);
  });

  it('of the SDK itself, if it is asked for, is the same call', async () => {
    const { client, episode } = openClient([{ text: '', error: new Error('busy') }, 'fine']);
    expect((await client.chat.completions.create(ask, { maxRetries: 1 })).choices[0]?.message.content).toBe('fine');
    expect(episode.finish()).toMatchObject({ calls: { failed: 1, answered: 1 }, samples: [{}] });
  });
});

it('counts what has no effect', async () => {
  const { client, episode } = openClient(['x']);
  const search = { type: 'function' as const, function: { name: 'add', parameters: {}, strict: true } };
  await client.chat.completions.create({ ...ask, reasoning_effort: 'high', verbosity: 'low', tools: [search] });
  expect(episode.finish().ignoredParameters).toEqual({
    solver: { reasoning_effort: 1, verbosity: 1, 'tools[].function.strict': 1 },
  });
});

it('shows what other models said, and counts what it cannot show', async () => {
  const { client, episode } = openClient(['x']);
  const others = [
    { role: 'assistant', content: null, refusal: 'I will not.' },
    {
      role: 'assistant',
      content: [
        { type: 'refusal', refusal: 'Nor will I.' },
        { type: 'image_url', image_url: {} },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'EuY' },
        { type: 'text', text: 'So be it.' },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [{ id: 'x', function: { name: 'look', arguments: '' } }] },
  ];
  const messages = [...ask.messages, ...others] as unknown as typeof ask.messages;
  await client.chat.completions.create({ ...ask, messages });
  const prompt = episode.engine.requests[0]?.text ?? '';
  expect(prompt).toMatch(/I will not\..*Nor will I\..*So be it\..*"arguments": \{\}\}/s);
  expect(episode.finish().ignoredParameters).toEqual({
    solver: { 'messages: image_url': 1, 'messages: redacted_thinking': 1 },
  });
});

it('describes its model, in a list and by any name', async () => {
  const { client } = openClient(['x']);
  expect((await client.models.list()).data).toEqual([await client.models.retrieve('any')]);
});

describe('streams', () => {
  it('come as the engine makes tokens, and add up to the whole answer', async () => {
    const { client, episode } = openClient([{ text: thinking, tokenDelayMs: 0 }]);
    let numRunning = 0;
    const deltas: (OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning_content?: string })[] = [];
    let usage: unknown;
    for await (const chunk of await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })) {
      numRunning = Math.max(numRunning, episode.engine.numRunning);
      if (chunk.choices[0] !== undefined) deltas.push(chunk.choices[0].delta);
      usage = chunk.usage ?? usage;
    }
    expect(numRunning).toBe(1);
    expect(deltas.map(({ content }) => content ?? '').join('')).toContain('Summing.');
    expect(deltas.map(({ reasoning_content }) => reasoning_content ?? '').join('')).toContain('long hard thought');
    const calls = deltas.flatMap(({ tool_calls = [] }) => tool_calls);
    expect(
      [0, 1].map((at) => calls.flatMap(({ index, function: made }) => (index === at ? made?.arguments : [])).join('')),
    ).toEqual(['{"b": 2,  "a":1.0}', '{"a": 3, "b": 4}']);
    expect(usage).toMatchObject({ completion_tokens: episode.engine.requests[0]?.completion?.ids.length });
  });

  it('keep the thinking whole in the stream helper', async () => {
    const { client } = openClient([{ text: thinking, tokenDelayMs: 0 }]);
    const message = await client.chat.completions.stream(ask).finalMessage();
    expect(message).toMatchObject({
      reasoning_content: expect.stringMatching(/^\s*long hard thought\s*$/),
      tool_calls: [{ function: { arguments: '{"b": 2,  "a":1.0}' } }, {}],
    });
  });

  it('free the slot when the reader breaks', async () => {
    const { client, episode } = openClient([{ text: 'a long answer that nobody reads to the end', tokenDelayMs: 1 }]);
    for await (const _chunk of await client.chat.completions.create({ ...ask, stream: true })) break;
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('raise errors with a status before the first token, and as APIError after it', async () => {
    const { client } = openClient(['x'], { contextLength: 60 });
    const long = [{ role: 'user' as const, content: 'word '.repeat(100) }];
    await expect(client.chat.completions.create({ ...ask, messages: long, stream: true })).rejects.toBeInstanceOf(
      BadRequestError,
    );
    const { client: closing, episode } = openClient([{ text: 'a long answer', tokenDelayMs: 1 }]);
    const read = async (): Promise<void> => {
      for await (const _chunk of await closing.chat.completions.create({ ...ask, stream: true })) episode.end();
    };
    await expect(read()).rejects.toThrow(/has ended/);
    await expect(read()).rejects.toMatchObject({ status: 410 });
  });
});

describe('errors are the SDK’s own', () => {
  it('context overflow, for that call alone', async () => {
    const { client } = openClient(['fine'], { contextLength: 60 });
    const error = await client.chat.completions
      .create({ ...ask, messages: [{ role: 'user', content: 'word '.repeat(100) }] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect((error as BadRequestError).code).toBe('context_length_exceeded');
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('fine');
  });

  it.each([
    ['messages', { messages: undefined }, 'missing_required_parameter', 'Missing required parameter'],
    [
      'messages[0].content',
      { messages: [{ role: 'user', content: 5 }] },
      'invalid_value',
      'is 5; expected string, or array',
    ],
    [
      'messages',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] },
      'unsupported_content',
      "'image_url'",
    ],
    ['logit_bias', { logit_bias: { 5: 1 } }, 'invalid_value', 'is not supported'],
    ['made_up', { made_up: 1 }, 'unsupported_parameter', 'Leave it out'],
  ])('a wrong %s is a BadRequestError with its name', async (param, wrong, code, words) => {
    const { client, episode } = openClient(['x']);
    const error = await client.chat.completions
      .create({ ...ask, ...(wrong as object) })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param, code, message: expect.stringContaining(words) });
    expect(episode.engine.requests).toHaveLength(0);
  });

  it('an engine that fails is asked once', async () => {
    const { client, episode } = openClient([{ text: '', error: new Error('device lost') }]);
    await expect(client.chat.completions.create(ask)).rejects.toBeInstanceOf(InternalServerError);
    expect(episode.engine.requests).toHaveLength(1);
  });

  it('abort', async () => {
    const controller = new AbortController();
    const { client, episode } = openClient(
      () => (setTimeout(() => controller.abort(), 8), { text: 'slow answer', tokenDelayMs: 5 }),
    );
    const answer = client.chat.completions.create(ask, { signal: controller.signal });
    await expect(answer).rejects.toBeInstanceOf(APIUserAbortError);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('after the episode, and for other APIs', async () => {
    const { client, episode } = openClient(['x']);
    await expect(client.responses.create({ model: 'm', input: 'hi' })).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.chat.completions.list()).rejects.toThrow('GET /v1/chat/completions is not served in process');
    episode.end();
    const error = await client.chat.completions.create(ask).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).status).toBe(410);
  });
});

describe('helpers', () => {
  it('parse structured output', async () => {
    const { client } = openClient(['{"answer": 4}']);
    const completion = await client.chat.completions.parse({
      ...ask,
      response_format: zodResponseFormat(z.object({ answer: z.number() }), 'sum'),
    });
    expect(completion.choices[0]?.message.parsed).toEqual({ answer: 4 });
  });

  it('run tools, also one that does not exist, to the end', async () => {
    const { client, episode } = openClient([
      toolCallText('add', '{"a": 1, "b": 2}'),
      toolCallText('nope', '{}'),
      'three',
    ]);
    const parse = (text: string): { a: number; b: number } => JSON.parse(text) as { a: number; b: number };
    const runner = client.chat.completions.runTools({
      ...ask,
      tools: [
        {
          type: 'function',
          function: { name: 'add', description: 'Adds.', parameters: {}, parse, function: ({ a, b }) => String(a + b) },
        } satisfies RunnableToolFunctionWithParse<{ a: number; b: number }>,
      ],
    });
    expect(await runner.finalContent()).toBe('three');
    expect(episode.finish().calls).toMatchObject({ answered: 3, unknownTools: 1 });
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const debugModel = new OpenAI({ apiKey: 'k' });
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
