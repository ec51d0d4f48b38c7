import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { readBody } from './read-body.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Answers each request with its body, or with the reason why the body was not read. */
async function serve(maxBytes: number): Promise<number> {
  const own = createServer((incoming, outgoing) => {
    void readBody(incoming, { maxBytes, maxMs: 10_000 }).then((body) => outgoing.end(body));
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  return (own.address() as AddressInfo).port;
}

/** Sends the parts one after another. The first part is sent together with the headers. */
function send(port: number, parts: readonly string[], agent = new Agent()): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-length': Buffer.byteLength(parts.join('')) };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers, agent }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () => resolve(text));
    });
    sent.on('error', reject);
    const [first = '', ...others] = parts;
    sent.write(first, () => {
      setImmediate(() => {
        for (const part of others) sent.write(part);
        sent.end();
      });
    });
  });
}

it('reads a body that arrives with its headers, and a later one on the same connection', async () => {
  const port = await serve(100);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const body of ['{"a":1}', 'é', '', 'x'.repeat(100)]) expect(await send(port, [body], agent)).toBe(body);
  agent.destroy();
});

it('reads a body that arrives in parts, and refuses one that is too large', async () => {
  const port = await serve(100);
  expect(await send(port, ['{"a":', '1}'])).toBe('{"a":1}');
  expect(await send(port, ['x'.repeat(101)])).toBe('too_large');
});
