import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { fetchThroughProxy } from './proxy.js';
import { startLoopbackHub } from './testing/loopback-hub.js';

const hub = await startLoopbackHub({ id: 'acme/tiny', files: { 'config.json': new TextEncoder().encode('{"a":1}') } });
const asked: string[] = [];
const proxy = createServer().on('connect', (request, socket) => {
  asked.push(request.url ?? '');
  const target = connect(Number(new URL(hub.endpoint).port), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    target.pipe(socket).pipe(target);
  });
  target.on('error', () => socket.destroy());
  socket.on('error', () => target.destroy());
});
await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));

const before = { HTTP_PROXY: process.env['HTTP_PROXY'], NO_PROXY: process.env['NO_PROXY'] };
afterAll(async () => {
  for (const [name, value] of Object.entries(before))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  proxy.closeAllConnections();
  proxy.close();
  await hub.close();
});

it('goes through the proxy that the environment names, but not to hosts of NO_PROXY', async () => {
  process.env['HTTP_PROXY'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  process.env['NO_PROXY'] = '127.0.0.1';
  const file = '/acme/tiny/resolve/main/config.json';
  const far = await fetchThroughProxy(`http://hub.invalid${file}`, { headers: {} });
  expect(await far.text()).toBe('{"a":1}');
  expect(asked).toEqual(['hub.invalid:80']);
  const near = await fetchThroughProxy(`${hub.endpoint}${file}`, { headers: { range: 'bytes=3-' } });
  expect([near.status, await near.text()]).toEqual([206, '":1}']);
  expect(asked).toHaveLength(1);
});
