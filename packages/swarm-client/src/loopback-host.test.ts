import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { isHere } from './loopback-host.js';
import { systemFetch } from './host.js';

const servers: Server[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: RequestListener): Promise<{ readonly url: string; readonly connections: () => number }> {
  let numConnections = 0;
  const server = createServer(answer).on('connection', () => numConnections++);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/swarm/v1/x?y=1`,
    connections: () => numConnections,
  };
}

const echo: RequestListener = (request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  request.on('end', () => {
    const { method, url, headers } = request;
    const key = headers.authorization;
    response.writeHead(method === 'PUT' ? 409 : 200, { 'content-type': 'application/json', 'Retry-After': '3' });
    response.end(JSON.stringify({ method, url, key, length: headers['content-length'], body }));
  });
};

it.each(['GET', 'POST', 'PUT'])('answers %s as fetch does', async (method) => {
  const { url } = await serve(echo);
  const init = { method, headers: { authorization: 'Bearer k' }, ...(method !== 'GET' && { body: '{"say":"grün"}' }) };
  const [own, other] = [await systemFetch(url, init), await fetch(url, init)];
  expect(own).not.toBeInstanceOf(Response); // the test compares two implementations
  const read = (name: string) => [own.headers.get(name), other.headers.get(name)] as const;
  expect([own.ok, own.status]).toEqual([other.ok, other.status]);
  expect(read('retry-AFTER')).toEqual(['3', '3']);
  expect(read('x-none')).toEqual([null, null]);
  expect(await own.text()).toBe(await other.text());
});

it('keeps its connection open for the next request', async () => {
  const { url, connections } = await serve(echo);
  for (let count = 0; count < 3; count++) await (await systemFetch(url, { method: 'POST', body: '{}' })).text();
  expect(connections()).toBe(1);
});

it('gives the parts of a body as they arrive, and rejects if the connection breaks', async () => {
  const { url } = await serve((_request, response) => {
    response.write('one');
    setTimeout(() => response.write('two'), 20);
    setTimeout(() => response.destroy(), 40);
  });
  const parts: string[] = [];
  const read = async (): Promise<void> => {
    const { body } = await systemFetch(url, {});
    for await (const part of body ?? []) parts.push(Buffer.from(part).toString());
  };
  await expect(read()).rejects.toThrow();
  expect(parts).toEqual(['one', 'two']);
});

it('stops a request and the reading of its answer with the reason of the signal', async () => {
  const { url } = await serve((request, response) => void (request.url?.endsWith('1') && response.write('part')));
  const stop = new AbortController();
  const waiting = systemFetch(url.replace('y=1', 'y=0'), { signal: stop.signal });
  const answer = await systemFetch(url, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('enough')), 10);
  await expect(waiting).rejects.toThrow('enough');
  await expect(answer.text()).rejects.toThrow();
  await expect(systemFetch(url, { signal: stop.signal })).rejects.toThrow('enough');
});

it('rejects if no server answers', async () => {
  const { url } = await serve(echo);
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  await expect(systemFetch(url, {})).rejects.toThrow('ECONNREFUSED');
});

it('follows a redirect, as fetch does', async () => {
  const { url } = await serve((request, response) => {
    if (request.url?.startsWith('/moved') === true) return echo(request, response);
    response.writeHead(307, { location: '/moved' });
    response.end();
  });
  const answer = await systemFetch(url, { method: 'POST', body: '{"a":1}' });
  expect(JSON.parse(await answer.text())).toMatchObject({ method: 'POST', url: '/moved', body: '{"a":1}' });
});

it('leaves requests to a replaced fetch, and requests to other machines to fetch', async () => {
  const replaced = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('replaced'));
  const { url } = await serve(echo);
  expect(await (await systemFetch(url, {})).text()).toBe('replaced');
  expect(replaced).toHaveBeenCalledOnce();
  const addresses = [
    'http://localhost:1/',
    'http://[::1]/',
    'http://127.0.0.1',
    'https://127.0.0.1/',
    'http://127.0.0.1.example.org/',
    'http://swarm/',
  ];
  expect(addresses.map((address) => isHere(address, {}))).toEqual([true, true, true, false, false, false]);
});
