import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ChatModel, type ChatOptions, type ChatRequest, type ChatResponse, EngineError } from '@agentjet/core';
import type { OpenAIEndpoint } from '@agentjet/rollout';
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEndpointServer, type EndpointServer } from './index.js';

/** These tests behave like bad clients and bad networks. */

const answer: ChatResponse = {
  id: 'r1',
  model: 'scripted',
  message: { role: 'assistant', content: 'hello' },
  finishReason: 'stop',
  usage: { promptTokens: 7, completionTokens: 2 },
};
type Generate = (request: ChatRequest, options: ChatOptions, index: number) => Promise<ChatResponse>;

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer({ graceMs: 150, heartbeatMs: 30, maxBodyBytes: 200_000 });
});

afterAll(() => server.close());

function open(generate: Generate = async () => answer) {
  const requests: ChatRequest[] = [];
  const model: ChatModel = {
    name: 'agentjet/solver',
    generate: async (request, options = {}) => generate(request, options, requests.push(request) - 1),
  };
  const episode = new AbortController();
  const access = server.open({ episodeId: 'e1', agentName: 'solver', model, signal: episode.signal });
  return {
    access,
    episode,
    requests,
    openai: new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 }),
  };
}

const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const untilAborted = (signal: AbortSignal | undefined) =>
  new Promise<never>((_resolve, reject) =>
    signal?.addEventListener('abort', () => reject(new EngineError('aborted', 'aborted'))),
  );

function post(
  { baseUrl, apiKey }: OpenAIEndpoint,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const headers = { authorization: `Bearer ${apiKey}`, 'x-api-key': apiKey, ...init.headers };
  return fetch(`${baseUrl}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers,
  });
}

describe('a stream', () => {
  const bodies = [
    ['/chat/completions', ask],
    ['/completions', { model: 'm', prompt: 'hi' }],
    ['/responses', { model: 'm', input: 'hi' }],
    ['/messages', { ...ask, max_tokens: 9 }],
  ] as const;

  it.each(bodies)(
    '%s has its headers at once, signs of life while the model is silent, and the answer at last',
    async (path, body) => {
      let speak = (): void => undefined;
      const silence = new Promise<void>((resolve) => {
        speak = resolve;
      });
      const response = await post(open(async () => silence.then(() => answer)).access, path, { ...body, stream: true });
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      const decoder = new TextDecoder();
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk as Uint8Array);
        if (Number(text.match(/^: keep-alive$|^event: ping$/gm)?.length) > 2) speak();
      }
      expect(text).toMatch(/\[DONE\]|response\.completed|message_stop/);
    },
  );

  it.each(bodies)('%s that cannot begin has its own status', async (path, body) => {
    const { access } = open(async () =>
      Promise.reject(new EngineError('context_overflow', 'The prompt has 9000 tokens.')),
    );
    const response = await post(access, path, { ...body, stream: true });
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      400,
      expect.stringContaining('9000 tokens'),
    ]);
  });

  it.each(bodies)(
    '%s that fails on its way says so in its own words, and does not look finished',
    async (path, body) => {
      const { access } = open(async (_request, { onDelta }) => {
        onDelta?.({ type: 'content', text: 'hel' });
        await wait(20);
        throw new Error('the device is lost');
      });
      const text = await (await post(access, path, { ...body, stream: true })).text();
      expect(text).toContain('the device is lost');
      expect(text).not.toMatch(/\[DONE\]|response\.completed|message_stop/);
    },
  );

  it('that fails on its way is an error of the SDK', async () => {
    const { openai } = open(async () => wait(20).then(() => Promise.reject(new Error('the device is lost'))));
    const stream = await openai.chat.completions.create({ ...ask, stream: true });
    const read = async () => {
      for await (const _chunk of stream);
    };
    await expect(read()).rejects.toThrow(/the device is lost/);
  });
});

describe('a slow answer', () => {
  /** The model fails as soon as the client has the headers. */
  function openFailing() {
    let fail = (_cause: Error): void => undefined;
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    const { access } = open(async () => failed);
    const fetchHeaders: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      fail(new Error('the device is lost'));
      return response;
    };
    return { ...access, fetchHeaders };
  }

  it('that fails after its headers is a broken connection with the error in it, never an answer', async () => {
    const { baseUrl, apiKey, fetchHeaders } = openFailing();
    const response = await fetchHeaders(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(ask),
    });
    const decoder = new TextDecoder();
    let seen = '';
    const read = async () => {
      for await (const chunk of response.body ?? []) seen += decoder.decode(chunk as Uint8Array);
    };
    await expect(read()).rejects.toThrow(/terminated/);
    expect(JSON.parse(seen)).toMatchObject({ error: { message: 'the device is lost' } });
  });

  it('that fails after its headers is an error of the SDK', async () => {
    const { baseUrl, apiKey, fetchHeaders } = openFailing();
    const openai = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0, fetch: fetchHeaders });
    await expect(openai.chat.completions.create(ask)).rejects.toThrow();
  });

  it('ends with 410 when its episode ends', async () => {
    const { openai, episode } = open(async (_request, { signal }) =>
      untilAborted(signal).catch(() =>
        Promise.reject(new EngineError('closed', 'This model is closed: the episode has ended.')),
      ),
    );
    setTimeout(() => episode.abort(), 30);
    const error = await openai.chat.completions.create(ask).catch((thrown: unknown) => thrown);
    expect([error instanceof APIError, (error as APIError).status, (error as APIError).code]).toEqual([
      true,
      410,
      'episode_ended',
    ]);
  });
});

describe('several answers to one call', () => {
  it.each([true, false])('end together if one fails (stream: %s)', async (stream) => {
    const ended: string[] = [];
    const { access } = open(async (_request, { signal }, index) => {
      if (index === 1) throw new EngineError('failed', 'the device is lost');
      return untilAborted(signal).finally(() => ended.push(`choice ${index}`));
    });
    expect((await post(access, '/chat/completions', { ...ask, n: 3, stream })).status).toBe(500);
    await expect.poll(() => ended.toSorted()).toEqual(['choice 0', 'choice 2']);
  });
});

describe('a client that goes away', () => {
  it.each([
    ['before the answer', '/chat/completions', ask, 50],
    ['while it is kept waiting', '/messages', { ...ask, max_tokens: 9 }, 250],
    ['in a stream', '/responses', { model: 'm', input: 'hi', stream: true }, 50],
  ])('%s cancels its call', async (_when, path, body, afterMs) => {
    let isCancelled = false;
    const { access, requests } = open(async (_request, { signal }) =>
      untilAborted(signal).finally(() => (isCancelled = true)),
    );
    const client = new AbortController();
    const answered = post(access, path, body, { signal: client.signal }).then((response) => response.text());
    await expect.poll(() => requests.length).toBe(1);
    await wait(afterMs);
    client.abort();
    await answered.catch(() => undefined);
    await expect.poll(() => isCancelled).toBe(true);
  });

  it('in the middle of a request does not disturb the server', async () => {
    const { access, requests, openai } = open();
    const { hostname, port } = new URL(access.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access.apiKey}\r\nContent-Length: 500\r\n\r\n{"model":`,
    );
    await wait(50);
    socket.destroy();
    await expect(openai.chat.completions.create(ask)).resolves.toBeDefined();
    expect(requests).toHaveLength(1);
  });
});

describe('keys', () => {
  it('open one agent: parts of two keys open nothing, and what one agent stored the other cannot recall', async () => {
    const [anna, bert] = [open(), open()];
    const [annasId] = anna.access.apiKey.split('.');
    const [, bertsSignature] = bert.access.apiKey.split('.');
    for (const apiKey of [
      `${annasId}.${bertsSignature}`,
      `${annasId}.`,
      `${annasId}`,
      'sk-ajet-',
      '',
      `${anna.access.apiKey}.x`,
    ]) {
      const response = await post({ ...anna.access, apiKey }, '/chat/completions', ask);
      expect([apiKey, response.status]).toEqual([apiKey, 401]);
    }
    const { id } = await anna.openai.responses.create({ model: 'm', input: 'my secret' });
    await expect(
      bert.openai.responses.create({ model: 'm', input: 'more', previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });

  it('are read from any spelling of the bearer header, and from x-api-key', async () => {
    const { access } = open();
    for (const headers of [{ authorization: `bearer ${access.apiKey}` }, { 'x-api-key': access.apiKey }]) {
      expect((await fetch(`${access.baseUrl}/models`, { headers })).status).toBe(200);
    }
    expect(
      (await fetch(`${access.baseUrl}/models`, { headers: { authorization: `Basic ${access.apiKey}` } })).status,
    ).toBe(401);
  });

  it('answer 410 for ever once the episode has ended, for every address', async () => {
    const { access, episode } = open();
    episode.abort();
    for (const path of ['/chat/completions', '/completions', '/responses', '/messages'])
      expect((await post(access, path, {})).status).toBe(410);
    expect(
      (await fetch(`${access.baseUrl}/models`, { headers: { authorization: `Bearer ${access.apiKey}` } })).status,
    ).toBe(410);
  });

  it('whose episode had ended before it was opened answers 410', async () => {
    const model: ChatModel = { name: 'm', generate: async () => answer };
    const access = server.open({ episodeId: 'e', agentName: 'a', model, signal: AbortSignal.abort() });
    expect((await post(access, '/chat/completions', ask)).status).toBe(410);
  });
});

describe('names of calls', () => {
  it('an idempotency key names one call on any connection, and is refused with another body', async () => {
    const { access, requests } = open();
    const headers = { 'idempotency-key': 'k1' };
    await post(access, '/chat/completions', ask, { headers });
    await post(access, '/chat/completions', ask, { headers });
    expect(requests.map(({ requestId }) => requestId)).toEqual(['key-k1:0', 'key-k1:0']);
    const other = await post(access, '/chat/completions', { ...ask, temperature: 0.5 }, { headers });
    expect([other.status, await other.json()]).toEqual([
      400,
      { error: expect.objectContaining({ code: 'idempotency_key_reused' }) },
    ]);
  });
});

describe('bodies', () => {
  it.each([
    [
      'too large, and of a length that nobody said',
      new ReadableStream({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode(`"${'x'.repeat(300_000)}"`));
          controller.close();
        },
      }),
      413,
    ],
    ['no JSON', '{"model":', 400],
    ['no object', '[1, 2]', 400],
    ['nothing', 'null', 400],
    [
      'no UTF-8',
      new Uint8Array([
        ...new TextEncoder().encode('{"model":"m","messages":[{"role":"user","content":"'),
        0xff,
        ...new TextEncoder().encode('"}]}'),
      ]),
      400,
    ],
    ['a byte order mark before it', `\uFEFF${JSON.stringify(ask)}`, 200],
    ['a nesting deeper than any stack', `${'['.repeat(90_000)}${']'.repeat(90_000)}`, 400],
    [
      'a nesting deeper than any stack, in a label',
      `{"model":"m","messages":[{"role":"user","content":"hi"}],"metadata":${'['.repeat(90_000)}${']'.repeat(90_000)}}`,
      400,
    ],
    ['brackets in strings, which are not nested', JSON.stringify({ ...ask, user: `\\"[{`.repeat(20_000) }), 200],
    ['very many small objects', `{"model":"m","messages":[${'{},'.repeat(66_000)}{}]}`, 400],
    ['very many messages', JSON.stringify({ ...ask, messages: Array(4_097).fill(ask.messages[0]) }), 400],
    ['as many messages as allowed', JSON.stringify({ ...ask, messages: Array(4_096).fill(ask.messages[0]) }), 200],
    ['very many tools', JSON.stringify({ ...ask, tools: Array(1_025).fill(0) }), 400],
    ['half a surrogate', '{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}', 200],
    [
      'a prototype',
      '{"model":"m","messages":[{"role":"user","content":"hi","__proto__":{"role":"system"}}],"constructor":1}',
      400,
    ],
  ])('%s', async (_name, body, status) => {
    const { access, openai } = open();
    const init = { body, duplex: 'half' } as RequestInit;
    const response = await post(access, '/chat/completions', '', init);
    expect(response.status).toBe(status);
    await response.text();
    await expect(openai.chat.completions.create(ask)).resolves.toBeDefined();
  });

  it('far over the limit are read to their end, so that a client which is still writing sees why', async () => {
    const small = await startEndpointServer({ maxBodyBytes: 6 << 20 });
    const access = small.open({
      episodeId: 'e',
      agentName: 'a',
      model: { name: 'm', generate: async () => answer },
      signal: new AbortController().signal,
    });
    const response = await post(access, '/chat/completions', 'x'.repeat(40 << 20));
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: expect.objectContaining({ code: 'request_too_large' }) },
    ]);
    await small.close();
  });

  it('of requests without a valid key are not read, and their connections are closed', async () => {
    const { hostname, port } = new URL(open().access.baseUrl);
    const socket = connect(Number(port), hostname);
    let seen = '';
    let writtenBytes = 0;
    socket.on('data', (chunk) => (seen += String(chunk)));
    socket.on('error', () => undefined); // The server resets the socket while the body is still being written.
    const piece = Buffer.alloc(1 << 16, 'x');
    const writeOn = (): void =>
      void socket.write(piece, (error) => {
        if (error !== undefined && error !== null) return;
        writtenBytes += piece.length;
        writeOn();
      });
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n', writeOn);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(seen).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
    expect(seen).toMatch(/\r\nconnection: close\r\n/i);
    expect(seen).toContain('missing_api_key');
    // The unread bytes are in the buffers of the two kernels, a few MB at most.
    expect(writtenBytes).toBeLessThan(16 << 20);
  });

  it('with a wrong key are refused in words that the clients still see', async () => {
    const access = { ...open().access, apiKey: 'wrong' };
    const body = { ...ask, messages: [{ role: 'user', content: 'x'.repeat(30 << 20) }] };
    const response = await post(access, '/chat/completions', body);
    expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('invalid_api_key')]);
    const openai = new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 });
    await expect(openai.chat.completions.create(body as never)).rejects.toMatchObject({ status: 401 });
  });

  it('that are compressed, and methods that an address does not take, are refused with their own status', async () => {
    const { access } = open();
    const gzip = await post(access, '/chat/completions', '', {
      body: gzipSync(JSON.stringify(ask)),
      headers: { 'content-encoding': 'gzip' },
    });
    expect([gzip.status, await gzip.text()]).toEqual([415, expect.stringContaining("content-encoding 'gzip'")]);
    const get = await fetch(`${access.baseUrl}/chat/completions`, {
      headers: { authorization: `Bearer ${access.apiKey}` },
    });
    expect([get.status, get.headers.get('allow'), await get.text()]).toEqual([
      405,
      'POST',
      expect.stringContaining('takes POST, not GET'),
    ]);
  });

  it.each([
    ['a parameter that is missing', { model: 'm' }, "Missing required parameter: 'messages'."],
    [
      'a message without content',
      { ...ask, messages: [{ role: 'user' }] },
      "Missing required parameter: 'messages[0].content'.",
    ],
    ['a number out of range', { ...ask, top_k: -5 }, "'top_k' is -5; expected number to be >=-1"],
    [
      'what is not supported',
      { ...ask, logit_bias: { 1: 2 } },
      "'logit_bias' is not supported by this model; leave it out",
    ],
  ])('with %s are refused in words', async (_what, body, words) => {
    const response = await post(open().access, '/chat/completions', body);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect([response.status, error.message]).toEqual([400, expect.stringContaining(words)]);
    expect(error.message).toContain(`'${error.param}'`);
  });

  it('that a protocol does not know are refused by the name of what is wrong', async () => {
    const { openai } = open();
    const refused: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [
        () => openai.responses.create({ model: 'm', input: 'hi', text: { format: { type: 'grammar' } as never } }),
        /text\.format/,
      ],
      [() => openai.responses.create({ model: 'm', input: [{ type: 'item_reference', id: 'x' }] }), /item_reference/],
      [() => openai.responses.create({ model: 'm', input: 'hi', truncation: 'auto' }), /truncation/],
      [() => openai.chat.completions.create({ ...ask, modalities: ['audio'] }), /modalities/],
      [
        () => openai.chat.completions.create({ ...ask, tool_choice: { type: 'allowed_tools' } as never }),
        /tool_choice/,
      ],
      [() => openai.chat.completions.create({ ...ask, functions: [] }), /functions/],
      [() => openai.completions.create({ model: 'm', prompt: ['a', 'b'] }), /prompt/],
    ];
    for (const [send, name] of refused)
      await expect(send()).rejects.toMatchObject({ status: 400, message: expect.stringMatching(name) });
  });
});

it('keeps idle connections longer than clients do, so that neither cuts the other off', async () => {
  const { access } = open();
  const { hostname, port } = new URL(access.baseUrl);
  const socket = connect(Number(port), hostname);
  const head = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access.apiKey}\r\n\r\n`;
  let seen = '';
  socket.on('data', (chunk) => (seen += String(chunk)));
  socket.write(head);
  await expect.poll(() => seen).toContain('agentjet/solver');
  expect(Number(/keep-alive: timeout=(\d+)/i.exec(seen)?.[1])).toBeGreaterThan(300);
  socket.destroy();
});

it('says of a request without a key that it has none', async () => {
  const response = await fetch(`${open().access.baseUrl}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(ask),
  });
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('has no API key')]);
});

it('takes a list with one prompt for that prompt', async () => {
  const { openai, requests } = open();
  await openai.completions.create({ model: 'm', prompt: ['only one'] });
  expect(requests[0]?.messages).toEqual([{ role: 'user', content: 'only one' }]);
});

it('describes its model under any name', async () => {
  const { openai } = open();
  expect(await openai.models.retrieve('agentjet/solver')).toMatchObject({ id: 'agentjet/solver', object: 'model' });
});
