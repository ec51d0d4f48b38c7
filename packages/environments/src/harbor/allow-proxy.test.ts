import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHostFilter } from './allowed-hosts.js';
import { createAllowProxy, type SocketDial } from './allow-proxy.js';

const server = createServer((asked, answer) => answer.end(`${asked.method} ${asked.url} for ${asked.headers.host}`));
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

const asked: string[] = [];
const toServer: SocketDial = async (host, port) => {
  asked.push(`${host}:${port}`);
  return connect((server.address() as AddressInfo).port, '127.0.0.1');
};

/** Sends bytes to a proxy, and returns what comes back until it matches. */
async function talk(request: string, hosts: readonly string[], until: RegExp): Promise<string> {
  const proxy = createAllowProxy(hosts, toServer);
  const [near, far] = duplexPair() as [Duplex, Duplex];
  proxy.accept(far);
  near.write(request);
  let said = '';
  for await (const part of near) {
    said += String(part);
    if (until.test(said)) break;
  }
  proxy.close();
  return said;
}

it('passes requests to allowed hosts, plain and through a tunnel', async () => {
  const plain = 'GET http://pypi.org:81/simple?x=1 HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\n\r\n';
  expect(await talk(plain, ['pypi.org'], / for /)).toContain('GET /simple?x=1 for pypi.org:81');
  const inner = 'GET /a HTTP/1.1\r\nHost: in.example.com\r\nConnection: close\r\n\r\n';
  const tunnel = `CONNECT in.example.com:443 HTTP/1.1\r\n\r\n${inner}`;
  expect(await talk(tunnel, ['*.example.com'], / for /)).toContain('GET /a for in.example.com');
  expect(asked).toEqual(['pypi.org:81', 'in.example.com:443']);
});

it.each([
  ['GET http://evil.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n', 'evil.org is not in allowed_hosts'],
  ['CONNECT evil.org:443 HTTP/1.1\r\nHost: pypi.org\r\n\r\n', 'evil.org is not in allowed_hosts'],
  ['CONNECT pypi.org.evil.org:443 HTTP/1.1\r\n\r\n', 'not in allowed_hosts'],
  ['CONNECT nonsense HTTP/1.1\r\n\r\n', '400 Bad Request'],
  ['GET /relative HTTP/1.1\r\nHost: pypi.org\r\n\r\n', 'Give a whole http: address'],
])('refuses %j', async (request, message) => {
  const before = asked.length;
  expect(await talk(request, ['pypi.org'], RegExp(message))).toContain(message);
  expect(asked.length).toBe(before);
});

it.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0'])(
  'does not lead to %s, which would be this machine and not the box',
  async (host) => {
    const { port } = server.address() as AddressInfo;
    const allowed = host.replace(/^\[|\]$/g, '');
    const proxy = createAllowProxy([allowed, '::ffff:7f00:1']);
    const [near, far] = duplexPair() as [Duplex, Duplex];
    proxy.accept(far);
    near.write(`CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`);
    const [first] = await near.take(1).toArray();
    proxy.close();
    expect(String(first)).toContain('502');
  },
);

it('matches names, endings, addresses and ranges', () => {
  const isAllowed = createHostFilter(['pypi.org', '*.example.com', '192.0.2.1', '10.0.0.0/8', '2001:db8::/32']);
  const allowed = [
    'PyPI.org',
    'pypi.org.',
    'a.example.com',
    'a.b.example.com',
    '192.0.2.1',
    '10.9.8.7',
    '[2001:db8::5]',
  ];
  const refused = ['example.com', 'badexample.com', 'x.pypi.org', '192.0.2.2', '11.0.0.1', '[2001:db9::1]', ''];
  expect(allowed.filter(isAllowed)).toEqual(allowed);
  expect(refused.filter(isAllowed)).toEqual([]);
});

it('closes what is open when the phase is over', async () => {
  let socket: Socket | undefined;
  const proxy = createAllowProxy(['a.b'], async (...target) => (socket = await toServer(...target)));
  const [near, far] = duplexPair() as [Duplex, Duplex];
  proxy.accept(far);
  near.write('CONNECT a.b:1 HTTP/1.1\r\n\r\n');
  await near.take(1).toArray();
  proxy.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(socket?.destroyed).toBe(true);
});

it('closes a connection that opens after its stream or the phase has ended', async () => {
  for (const end of ['stream', 'phase']) {
    let connected: (socket: Socket) => void = () => undefined;
    const dialed = new Promise<Socket>((resolve) => (connected = resolve));
    const proxy = createAllowProxy(['a.b'], () => dialed);
    const [near, far] = duplexPair() as [Duplex, Duplex];
    proxy.accept(far);
    near.write('CONNECT a.b:1 HTTP/1.1\r\n\r\n');
    await delay(20);
    if (end === 'phase') proxy.close();
    else far.destroy();
    await delay(20);
    const socket = await toServer('a.b', 1);
    connected(socket);
    await delay(20);
    expect([end, socket.destroyed]).toEqual([end, true]);
  }
});

it('ends an answer that its host broke off, and a request whose program has ended', async () => {
  const sockets: Socket[] = [];
  const half = createServer((_asked, answer) => {
    sockets.push(answer.socket as Socket);
    answer.writeHead(200, { 'content-length': 100 }).write('half');
  });
  await new Promise<void>((resolve) => void half.listen(0, '127.0.0.1', resolve));
  const proxy = createAllowProxy(['a.b'], async () => connect((half.address() as AddressInfo).port, '127.0.0.1'));
  const ask = async (): Promise<readonly [Duplex, Duplex]> => {
    const [near, far] = duplexPair() as [Duplex, Duplex];
    proxy.accept(far);
    near.write('GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n');
    let said = '';
    near.on('data', (part) => (said += String(part)));
    while (!said.includes('half')) await delay(5);
    return [near, far];
  };
  const [, far] = await ask();
  sockets[0]?.destroy();
  await delay(100);
  expect(far.destroyed).toBe(true);
  const [near] = await ask();
  near.end();
  await delay(100);
  expect(sockets[1]?.destroyed).toBe(true);
  proxy.close();
  half.close();
});
