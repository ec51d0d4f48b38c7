import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createChatModel, listServedModels, type ChatModelOptions } from './chat-model.js';
import { systemModelHost } from './host.js';

type Seen = {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly id: unknown;
  readonly body: Record<string, unknown>;
};

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

type Answer = {
  readonly status?: number;
  readonly body: unknown;
  readonly delayMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection breaks after the body. */
  readonly isCut?: boolean;
};

/** Answers each request with the next of `answers` and repeats the last one. */
async function serve(answers: readonly Answer[]) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      const { authorization } = request.headers;
      seen.push({ url: request.url, authorization, id: request.headers['idempotency-key'], body });
      const send = (): void => {
        response.writeHead(answer?.status ?? 200, { 'content-type': 'application/json', ...answer?.headers });
        response.write(typeof answer?.body === 'string' ? answer.body : JSON.stringify(answer?.body));
        if (answer?.isCut === true) setImmediate(() => response.destroy());
        else response.end();
      };
      setTimeout(send, answer?.delayMs ?? 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen };
}

/** Does not wait between tries. `waits` records how long it would have waited. */
function modelAt(baseUrl: string, more: Partial<ChatModelOptions> = {}) {
  const waits: number[] = [];
  const now = (): number => waits.reduce((sum, ms) => sum + ms, 0);
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  const model = createChatModel({ baseUrl, name: 'm', ...more }, { ...systemModelHost, random: () => 1, now, sleep });
  return { ...model, waits };
}

const hello = {
  id: 'c1',
  model: 'm',
  choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
};
const greet = { messages: [{ role: 'user', content: 'hello' }] } as const;

it('sends a conversation with tools and gets calls back, arguments untouched', async () => {
  const call = { id: 'call_9', type: 'function', function: { name: 'add', arguments: '{"a": 1,  "b":2}' } };
  const { baseUrl, seen } = await serve([
    {
      body: {
        choices: [
          { message: { content: null, reasoning_content: 'sum', tool_calls: [call] }, finish_reason: 'tool_calls' },
        ],
      },
    },
  ]);
  const model = modelAt(`${baseUrl}/`, { key: { value: 'sk-1', name: 'KEY' }, name: 'qwen' });
  const response = await model.generate({
    messages: [
      { role: 'system', content: 's' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'add', arguments: '{ }' }] },
      { role: 'tool', toolCallId: 'x', content: '3' },
    ],
    tools: [{ name: 'add', parameters: { type: 'object' } }],
    sampling: { temperature: 0, seed: 7, maxTokens: 20 },
  });
  expect(response.message).toEqual({
    role: 'assistant',
    content: '',
    reasoning: 'sum',
    toolCalls: [{ id: 'call_9', name: 'add', arguments: '{"a": 1,  "b":2}' }],
  });
  expect(response.finishReason).toBe('tool_calls');
  expect(seen[0]?.url).toBe('/v1/chat/completions');
  expect(seen[0]?.authorization).toBe('Bearer sk-1');
  expect(seen[0]?.body).toEqual({
    model: 'qwen',
    temperature: 0,
    max_tokens: 20,
    seed: 7,
    messages: [
      { role: 'system', content: 's' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'add', arguments: '{ }' } }],
      },
      { role: 'tool', tool_call_id: 'x', content: '3' },
    ],
    tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
  });
});

it('lists models', async () => {
  const { baseUrl, seen } = await serve([{ body: { data: [{ id: 'first' }, { id: 'second' }] } }]);
  expect(await listServedModels({ baseUrl, key: { value: 'sk-1', name: 'KEY' } })).toEqual(['first', 'second']);
  expect(seen).toEqual([{ url: '/v1/models', authorization: 'Bearer sk-1', id: undefined, body: {} }]);
});

const chunk = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const events = { 'content-type': 'text/event-stream' };
const streamed = (pieces: readonly string[], end = 'data: [DONE]\n\n'): Answer => ({
  headers: events,
  body: pieces.map((content) => chunk({ content })).join('') + end,
  isCut: end === '',
});

/** Returns the answer, and the deltas that the caller saw. */
async function stream(answers: readonly Answer[]) {
  const { baseUrl, seen } = await serve(answers);
  const shown: unknown[] = [];
  const answer = await modelAt(baseUrl).generate(greet, { onDelta: (delta) => shown.push(delta) });
  return { answer, shown, seen };
}

it('streams an answer, with its usage', async () => {
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n';
  const { answer, shown, seen } = await stream([streamed(['one ', 'two'], usage)]);
  expect(shown).toEqual(['one ', 'two'].map((text) => ({ type: 'content', text })));
  expect(answer).toMatchObject({
    message: { content: 'one two' },
    usage: { promptTokens: 3, completionTokens: 2 },
    id: seen[0]?.id,
  });
  expect(seen[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

it('shows a whole answer as one burst if the server does not stream', async () => {
  const { shown } = await stream([{ body: hello }]);
  expect(shown).toEqual([{ type: 'content', text: 'hi' }]);
});

it('sends a stream that was cut again with the same id, and shows no word twice', async () => {
  const { shown, seen } = await stream([streamed(['one ', 'two '], ''), streamed(['one ', 'two ', 'three'])]);
  expect(shown.map((delta) => (delta as { readonly text: string }).text).join('')).toBe('one two three');
  expect(new Set(seen.map(({ id }) => id)).size).toBe(1);
});

it('fails if the second answer is another one, and throws what its caller threw', async () => {
  await expect(stream([streamed(['one '], ''), streamed(['two '])])).rejects.toMatchObject({ code: 'failed' });
  const { baseUrl, seen } = await serve([streamed(['one '])]);
  const onDelta = (): void => {
    throw new TypeError('not my words');
  };
  await expect(modelAt(baseUrl).generate(greet, { onDelta })).rejects.toThrow('not my words');
  expect(seen).toHaveLength(1);
});

it('sends a stream again that has an error in its middle', async () => {
  const broken = streamed(['one '], 'data: {"error": {"message": "overloaded"}}\n\n');
  const { answer } = await stream([broken, streamed(['one ', 'two'])]);
  expect(answer.message.content).toBe('one two');
});

it.each([
  ['busy', { status: 503, body: 'busy' }, [500]],
  ['busy for a while', { status: 503, body: 'busy', headers: { 'retry-after': '7' } }, [7000]],
  ['over a rate limit', { status: 429, body: '', headers: { 'retry-after-ms': '900' } }, [900]],
  ['busy, and says in its body for how long', { status: 503, body: { error: { retry_after_ms: 800 } } }, [800]],
  ['without an answer in it', { body: { choices: [] } }, [500]],
  ['broken off', { body: '{"choices": [', isCut: true }, [500]],
] as const)('tries again when the endpoint is %s', async (_, answer, waits) => {
  const { baseUrl, seen } = await serve([answer, { body: hello }]);
  const model = modelAt(baseUrl);
  expect((await model.generate(greet)).message.content).toBe('hi');
  expect(seen).toHaveLength(2);
  expect(model.waits).toEqual(waits);
});

it('fails after four more tries, and says why', async () => {
  const { baseUrl, seen } = await serve([{ body: { choices: [] } }]);
  await expect(modelAt(baseUrl).generate(greet)).rejects.toMatchObject({
    code: 'failed',
    message: expect.stringMatching(/^No answer at 127\.0\.0\.1:\d+ \(model m\): An answer without choices/),
  });
  expect(seen).toHaveLength(5);
  servers.at(-1)?.close();
  servers.at(-1)?.closeAllConnections();
  await expect(modelAt(baseUrl).generate(greet)).rejects.toThrow(/No answer at .*ECONNREFUSED/);
});

it.each([
  [400, { error: { message: 'no tools here' } }, 'bad_request'],
  [400, { error: { message: 'too long', code: 'context_length_exceeded' } }, 'context_overflow'],
  [404, { error: { message: 'no such model' } }, 'failed'],
  [413, 'too large', 'bad_request'],
  [401, { error: { message: 'Incorrect API key sk-secret' } }, 'failed'],
] as const)('asks once if the answer is %i %j', async (status, body, code) => {
  const { baseUrl, seen } = await serve([{ status, body }]);
  const error = await modelAt(baseUrl, { key: { value: 'sk-secret', name: 'KEY' } })
    .generate(greet)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code, message: expect.stringContaining(`status ${status}: `) });
  expect(String(error)).not.toContain('sk-secret');
  expect(seen).toHaveLength(1);
});

it('ends a call that its caller aborts', async () => {
  const { baseUrl } = await serve([{ body: hello, delayMs: 5000 }]);
  const model = modelAt(baseUrl);
  const controller = new AbortController();
  const answer = model.generate(greet, { signal: controller.signal });
  controller.abort();
  await expect(answer).rejects.toMatchObject({ code: 'aborted' });
});

it('an address with a user and a password in it works, and messages show neither', async () => {
  const { baseUrl, seen } = await serve([{ body: hello }, { status: 400, body: 'no' }]);
  const address = baseUrl.replace('//', '//ann:se%40cret@');
  const model = modelAt(address);
  expect((await model.generate(greet)).message.content).toBe('hi');
  expect(seen[0]?.authorization).toBe(`Basic ${Buffer.from('ann:se@cret').toString('base64')}`);
  const error = await model.generate(greet).catch((thrown: unknown) => String(thrown));
  expect(error).toContain(new URL(baseUrl).host);
  expect(error).not.toMatch(/ann|cret/);
});
