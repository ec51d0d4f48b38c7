import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createEndpointModel } from './endpoint-model.js';

type Seen = {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
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

/** Answers each request with the next of `answers`; the last one again and again. */
async function serve(
  answers: readonly { readonly status?: number; readonly body: unknown; readonly delayMs?: number }[],
) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push({ url: request.url, authorization: request.headers.authorization, body });
      const send = (): void => {
        response.writeHead(answer?.status ?? 200, { 'content-type': 'application/json' });
        response.end(typeof answer?.body === 'string' ? answer.body : JSON.stringify(answer?.body));
      };
      setTimeout(send, answer?.delayMs ?? 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen };
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
  const model = await createEndpointModel({
    baseUrl: `${baseUrl}/`,
    apiKey: 'sk-1',
    model: 'qwen',
    sampling: { temperature: 0.5, seed: 7, maxTokens: 20 },
  });
  const response = await model.generate({
    messages: [
      { role: 'system', content: 's' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'add', arguments: '{ }' }] },
      { role: 'tool', toolCallId: 'x', content: '3' },
    ],
    tools: [{ name: 'add', parameters: { type: 'object' } }],
    sampling: { temperature: 0 },
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

it('takes the first model that the endpoint lists', async () => {
  const { baseUrl } = await serve([{ body: { data: [{ id: 'first' }, { id: 'second' }] } }, { body: hello }]);
  const model = await createEndpointModel({ baseUrl, model: null, sampling: {} });
  expect(model.name).toBe('first');
  const deltas: unknown[] = [];
  const response = await model.generate(greet, { onDelta: (delta) => deltas.push(delta) });
  expect(response.usage).toEqual({ promptTokens: 3, completionTokens: 1 });
  expect(deltas).toEqual([{ type: 'content', text: 'hi' }]);
});

it('tries again when the endpoint is busy, and not when the request is wrong', async () => {
  const busy = await serve([{ status: 503, body: 'busy' }, { body: hello }]);
  const model = await createEndpointModel({ baseUrl: busy.baseUrl, model: 'm', sampling: {} });
  expect((await model.generate(greet)).message.content).toBe('hi');
  expect(busy.seen).toHaveLength(2);

  const strict = await serve([{ status: 400, body: { error: { message: 'no such model' } } }]);
  const refused = await createEndpointModel({ baseUrl: strict.baseUrl, model: 'm', sampling: {} });
  await expect(refused.generate(greet)).rejects.toThrow(/status 400: .*no such model/);
  expect(strict.seen).toHaveLength(1);
});

it('says what is wrong with an address where nothing listens', async () => {
  const { baseUrl } = await serve([]);
  servers[0]?.close();
  await expect(createEndpointModel({ baseUrl, model: null, sampling: {} })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  const model = await createEndpointModel({ baseUrl, model: 'm', sampling: {} });
  await expect(model.generate(greet)).rejects.toThrow(/did not answer .*ECONNREFUSED.*debug.base_url/);
});

it('says what to do about a key that is refused, and about a wrong address', async () => {
  const locked = await serve([{ status: 401, body: { error: { message: 'Incorrect API key' } } }]);
  await expect(createEndpointModel({ baseUrl: locked.baseUrl, model: null, sampling: {} })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/refuses the key \(status 401: .*Incorrect API key.*Set debug\.api_key/),
  });
  const model = await createEndpointModel({ baseUrl: locked.baseUrl, model: 'm', sampling: {} });
  await expect(model.generate(greet)).rejects.toThrow(
    /status 401: .*Set debug\.api_key, or the environment variable OPENAI_API_KEY/,
  );
  const elsewhere = await serve([{ status: 404, body: 'not here' }]);
  const lost = await createEndpointModel({ baseUrl: elsewhere.baseUrl, model: 'm', sampling: {} });
  await expect(lost.generate(greet)).rejects.toThrow(
    /status 404: not here\. Does debug\.base_url end as it should \(often in \/v1\), and is there a model "m"\?/,
  );
});

it('ends a call that its caller aborts', async () => {
  const { baseUrl } = await serve([{ body: hello, delayMs: 5000 }]);
  const model = await createEndpointModel({ baseUrl, model: 'm', sampling: {} });
  const controller = new AbortController();
  const answer = model.generate(greet, { signal: controller.signal });
  controller.abort();
  await expect(answer).rejects.toMatchObject({ code: 'aborted' });
});

it('refuses a body without an answer', async () => {
  const { baseUrl } = await serve([{ body: { choices: [] } }]);
  const model = await createEndpointModel({ baseUrl, model: 'm', sampling: {} });
  await expect(model.generate(greet)).rejects.toThrow(/without choices/);
});

it('an address with a user and a password in it works, and messages show neither', async () => {
  const { baseUrl, seen } = await serve([{ body: hello }, { status: 400, body: 'no' }]);
  const address = baseUrl.replace('//', '//ann:se%40cret@');
  const model = await createEndpointModel({ baseUrl: address, model: 'm', sampling: {} });
  expect((await model.generate(greet)).message.content).toBe('hi');
  expect(seen[0]?.authorization).toBe(`Basic ${Buffer.from('ann:se@cret').toString('base64')}`);
  const error = await model.generate(greet).catch((thrown: unknown) => String(thrown));
  expect(error).toContain(baseUrl);
  expect(error).not.toMatch(/ann|cret/);
});
