import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import { createHostFilter } from './allowed-hosts.js';
import { createOutsideDial } from './dial-outside.js';

/**
 * A proxy for HTTP and, with CONNECT, for everything else over TCP. It connects to any port of the allowed hosts, as Harbor
 * does, and never to this machine. The box of the program has no network, so nothing passes it by.
 */
export type AllowProxy = {
  readonly accept: (stream: Duplex) => void;
  /** Connects as a program of the box could. Rejects if the host is not allowed. */
  readonly dial: (host: string, port: number) => Promise<Duplex>;
  readonly close: () => void;
};

/** Connects to a host, or rejects. Tests give another one. */
export type SocketDial = (host: string, port: number) => Promise<Socket>;

export function createAllowProxy(hosts: readonly string[], given?: SocketDial): AllowProxy {
  const isAllowed = createHostFilter(hosts);
  const dial = given ?? createOutsideDial(isAllowed);
  const open = new Set<Duplex>();
  let isClosed = false;
  const keep = <Stream extends Duplex>(stream: Stream): Stream => {
    open.add(stream);
    if (isClosed) stream.destroy();
    return stream.on('error', () => stream.destroy()).once('close', () => open.delete(stream));
  };
  const reach = async (host: string, port: number): Promise<Socket | Refusal> => {
    if (!isAllowed(host)) return { status: 403, reason: `${host} is not in allowed_hosts of the task.` };
    return dial(host, port).then(keep, (error: unknown) => ({ status: 502, reason: String(error) }));
  };
  const server = createServer((asked, answer) => void forward(asked, answer, reach).catch(() => answer.destroy()));
  server.on('connect', (asked: IncomingMessage, stream: Duplex, head: Buffer) => {
    keep(stream);
    void tunnel(asked.url ?? '', { stream, head, reach }).catch(() => stream.destroy());
  });
  return {
    accept: (stream) => void server.emit('connection', keep(stream)),
    dial: async (host, port) => {
      const reached = await reach(host, port);
      if ('reason' in reached) throw new Error(reached.reason);
      return reached;
    },
    close: () => {
      isClosed = true;
      for (const stream of open) stream.destroy();
    },
  };
}

type Refusal = { readonly status: number; readonly reason: string };
type Reach = (host: string, port: number) => Promise<Socket | Refusal>;

async function tunnel(
  target: string,
  { stream, head, reach }: { readonly stream: Duplex; readonly head: Buffer; readonly reach: Reach },
): Promise<void> {
  const url = URL.parse(`tcp://${target}`);
  if (url === null || url.port === '') return void stream.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  const reached = await reach(url.hostname, Number(url.port));
  if (stream.destroyed) return hangUp(reached);
  if ('reason' in reached)
    return void stream.end(`HTTP/1.1 ${reached.status} Refused\r\nContent-Type: text/plain\r\n\r\n${reached.reason}\n`);
  stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
  reached.write(head);
  reached.pipe(stream).pipe(reached);
  reached.once('close', () => stream.destroy());
  stream.once('close', () => reached.destroy());
}

/** The program has ended while its host was dialed. */
function hangUp(reached: Socket | Refusal): void {
  if (!('reason' in reached)) reached.destroy();
}

/** Headers that belong to one connection. */
const ofConnection = [
  'connection',
  'proxy-connection',
  'proxy-authorization',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
];

async function forward(asked: IncomingMessage, answer: ServerResponse, reach: Reach): Promise<void> {
  const url = URL.parse(asked.url ?? '');
  const refuse = ({ status, reason }: Refusal): void =>
    void answer.writeHead(status, { 'content-type': 'text/plain' }).end(`${reason}\n`);
  if (url === null || url.protocol !== 'http:') return refuse({ status: 400, reason: 'Give a whole http: address.' });
  const reached = await reach(url.hostname, Number(url.port || 80));
  if (answer.destroyed) return hangUp(reached);
  if ('reason' in reached) return refuse(reached);
  const kept = Object.entries(asked.headers).filter(([name]) => !ofConnection.includes(name));
  const onward = request({
    method: asked.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...Object.fromEntries(kept), host: url.host, connection: 'close' },
    createConnection: () => reached,
  });
  onward.once('response', (got) => {
    answer.writeHead(got.statusCode ?? 502, got.headers);
    pipeline(got, answer, () => undefined); // an answer that breaks off must not look as if more would come
  });
  onward.once('error', (error) =>
    answer.headersSent ? answer.destroy() : refuse({ status: 502, reason: String(error) }),
  );
  answer.once('close', () => onward.destroy());
  asked.pipe(onward);
}
