import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { systemClientHost, systemFetch } from '../host.js';
import { createRemoteModel, type RemoteModelOptions } from './remote-model.js';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Answers the first request with the first handler, and so on; the last handler repeats. Records the ids of calls. */
async function serve(handlers: readonly Handler[]): Promise<{ readonly address: string; readonly ids: string[] }> {
  const ids: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const handle = handlers[Math.min(ids.length, handlers.length - 1)];
      ids.push(String(request.headers['idempotency-key']));
      handle?.(request, response, Buffer.concat(chunks).toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/e/1/a/v1`, ids };
}

const modelAt = (address: string, more: Partial<RemoteModelOptions> = {}) =>
  createRemoteModel({ host: systemClientHost, fetch: systemFetch, address, key: 'k', name: 'm', ...more });

const ask = { messages: [{ role: 'user', content: 'hello' }] } as const;
const answered: Handler = (_request, response) =>
  void response.end(JSON.stringify({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }));
const refused =
  (status: number, code: string): Handler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message: `it is ${code}` } }));
  };
const chunk = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const streamed =
  (pieces: readonly string[], end: 'whole' | 'cut'): Handler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const content of pieces) response.write(chunk({ content }));
    if (end === 'whole') response.end('data: [DONE]\n\n');
    else setImmediate(() => response.destroy());
  };

it('repeats a call with one id while the server is away, and says so', async () => {
  const { address, ids } = await serve([(request) => request.socket.destroy(), refused(503, 'not_ready'), answered]);
  const away: string[] = [];
  const answer = await modelAt(address, { onAway: (message) => away.push(message) }).generate(ask);
  expect(answer.message.content).toBe('hi');
  expect(new Set(ids).size).toBe(1);
  expect(answer.id).toBe(ids[0]);
  expect(away).toHaveLength(2);
  expect(away[1]).toContain('it is not_ready');
});

it('lets the server count the tokens of a prompt, also after an outage', async () => {
  const bodies: string[] = [];
  const counted: Handler = (request, response, body) => {
    bodies.push(`${request.url} ${body}`);
    response.end(JSON.stringify({ input_tokens: 12 }));
  };
  const { address } = await serve([refused(503, 'not_ready'), counted, refused(400, 'context_length_exceeded')]);
  const model = modelAt(address);
  expect(await model.countPromptTokens(ask)).toBe(12);
  expect(bodies[0]).toMatch(/^\/e\/1\/a\/v1\/chat\/completions\/count_tokens .*"hello"/);
  await expect(model.countPromptTokens(ask)).rejects.toMatchObject({ code: 'context_overflow' });
});

it('continues a stream that was cut, and shows no word twice', async () => {
  const { address, ids } = await serve([
    streamed(['one ', 'two '], 'cut'),
    streamed(['one ', 'two ', 'three'], 'whole'),
  ]);
  const pieces: string[] = [];
  const onDelta = (delta: { readonly type: string; readonly text?: string }): void =>
    void pieces.push(delta.text ?? '');
  const answer = await modelAt(address).generate(ask, { onDelta });
  expect([pieces.join(''), answer.message.content]).toEqual(['one two three', 'one two three']);
  expect(new Set(ids).size).toBe(1);
});

it('fails a call whose second answer does not continue what the agent has seen', async () => {
  const { address } = await serve([streamed(['one '], 'cut'), streamed(['two '], 'whole')]);
  const generate = modelAt(address).generate(ask, { onDelta: () => undefined });
  await expect(generate).rejects.toMatchObject({ code: 'failed' });
});

it.each([
  [400, 'context_length_exceeded', 'context_overflow'],
  [400, 'invalid_request', 'bad_request'],
  [410, 'gone', 'closed'],
  [500, 'engine_error', 'failed'],
  [401, 'invalid_api_key', 'failed'],
  [404, 'target_not_trained', 'target_not_trained'],
])('takes status %i %s for %s, at once', async (status, code, expected) => {
  const { address, ids } = await serve([refused(status, code)]);
  await expect(modelAt(address).generate(ask)).rejects.toMatchObject({ code: expected, message: `it is ${code}` });
  expect(ids).toHaveLength(1);
});

it('reads the error of a long call out of a body that was cut', async () => {
  const { address } = await serve([
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('   ');
      response.write(JSON.stringify({ error: { code: 'engine_error', message: 'the device is lost' } }));
      setTimeout(() => response.destroy(), 20);
    },
  ]);
  await expect(modelAt(address).generate(ask)).rejects.toThrow('the device is lost');
});

it('sends a call again over a new connection if the old one says nothing', async () => {
  const { address, ids } = await serve([() => undefined, answered]);
  const answer = await modelAt(address, { silenceMs: 50 }).generate(ask);
  expect(answer.message.content).toBe('hi');
  expect(ids).toHaveLength(2);
});

it('ends with its caller, in the middle of waiting for the server', async () => {
  const { address } = await serve([refused(503, 'not_ready')]);
  const controller = new AbortController();
  const onAway = (): void => controller.abort(new Error('enough'));
  const generate = modelAt(address, { onAway }).generate(ask, { signal: controller.signal });
  await expect(generate).rejects.toMatchObject({ code: 'aborted' });
});
