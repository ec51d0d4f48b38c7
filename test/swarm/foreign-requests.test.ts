import { request } from 'node:http';
import type { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** Headers that a web page can set, in requests to a server on the same machine. */

let servers = new MemoryServers();
beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(() => servers.close());

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** `fetch` does not send a foreign Host header. */
function send(
  { url }: SwarmServer,
  route: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(`${url}/swarm/v1${route}`, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Answer['body'] }));
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const tasks = [{ task_id: 't0', index: 0, hash: 'h' }];

describe('a server without keys', () => {
  const start = (): Promise<SwarmServer> => servers.start({ settings: testSettings, app: { needsKey: false } });

  it.each([
    ['a foreign name that leads to this machine', { host: 'evil.example' }],
    ['another page', { origin: 'https://evil.example' }],
    ['a page in a sandbox', { origin: 'null' }],
    ['another server of this machine', { origin: 'http://127.0.0.1:1' }],
  ])('refuses a request from %s', async (_who, headers) => {
    const server = await start();
    const refused = { status: 403, body: { error: { code: 'foreign_origin' } } };
    expect(await send(server, '/server', { headers })).toMatchObject(refused);
    expect(await send(server, '/tasks', { headers, body: { tasks, total: 1 } })).toMatchObject(refused);
  });

  it('answers programs of this machine, by each of its names, and its own pages', async () => {
    const server = await start();
    const { port, host } = new URL(server.url);
    for (const headers of [{}, { host: `localhost:${port}` }, { host: `[::1]:${port}` }, { origin: `http://${host}` }])
      expect((await send(server, '/server', { headers })).status).toBe(200);
  });
});
