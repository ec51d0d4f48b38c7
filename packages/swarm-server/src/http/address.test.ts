import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { findPort, originOf, toUrl } from './address.js';

it('addresses are written as clients read them', () => {
  expect(toUrl({ hostname: '127.0.0.1', port: 1 })).toBe('http://127.0.0.1:1');
  expect(new URL(toUrl({ hostname: '::1', port: 8700 }, 'https')).host).toBe('[::1]:8700');
});

it('the headers of a proxy count only behind a proxy', () => {
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'swarm.example.org' };
  const url = 'http://127.0.0.1:8700/swarm/v1/episodes';
  expect(originOf(url, headers)).toBe('http://127.0.0.1:8700');
  expect(originOf(url, headers, true)).toBe('https://swarm.example.org');
  expect(originOf(url, {}, true)).toBe('http://127.0.0.1:8700');
});

it('a port that another program has is refused, with what to do', async () => {
  const hostname = '127.0.0.1';
  const other = createServer().listen(0, hostname);
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(findPort({ hostname, port })).rejects.toMatchObject({
    code: 'cannot_listen',
    message: `The server cannot listen at http://127.0.0.1:${port}: another program listens there. End that one, or give another --port.`,
  });
  const free = await findPort({ hostname, port: 0 });
  expect([free > 0, free === port]).toEqual([true, false]);
  other.close();
  await once(other, 'close');
  expect(await findPort({ hostname, port })).toBe(port);
});
