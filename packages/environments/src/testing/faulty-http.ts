import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject, type JsonObject } from '@agentjet/core';
import { attackHttp } from './attacks.js';
import { delay, type Fault, type RequestKind } from './faults.js';

export type HttpAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};
export type HttpRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: JsonObject;
  readonly headers: IncomingMessage['headers'];
};

export type FaultyHttp = {
  readonly url: string;
  readonly server: Server;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly kindOf: (request: HttpRequest) => RequestKind | undefined;
  readonly handle: (request: HttpRequest) => HttpAnswer;
  readonly plan: (kind: RequestKind) => Fault;
  /** Changes an answer as if it were for another session. Default: no change. */
  readonly asForeign?: (answer: HttpAnswer, request: HttpRequest) => HttpAnswer;
};

/** Starts a server on loopback that handles JSON requests and disturbs some of them, as the plan says. */
export async function startFaultyHttp({ kindOf, handle, plan, asForeign }: Options): Promise<FaultyHttp> {
  const server = createServer((incoming, response) => {
    void readRequest(incoming).then(async (request) => {
      const kind = kindOf(request);
      const fault = kind === undefined ? 'none' : plan(kind);
      if (fault === 'drop') return incoming.socket.destroy();
      if (fault === 'error') return send(response, { status: 500, body: { detail: 'out of order' } });
      const answer = handle(request);
      if (fault === 'delay') await delay();
      if (fault === 'foreign') return send(response, asForeign?.(answer, request) ?? answer);
      if (fault === 'flood' || fault === 'nest' || fault === 'drip') return void attackHttp(response, fault);
      spoil(incoming, response, { answer, fault });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<HttpRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString('utf8');
  const body: unknown = text === '' ? {} : JSON.parse(text);
  const { method = '', url: path = '', headers } = incoming;
  return { method, path, body: isJsonObject(body) ? body : {}, headers };
}

function spoil(
  { socket }: IncomingMessage,
  response: ServerResponse,
  { answer, fault }: { readonly answer: HttpAnswer; readonly fault: Fault },
): void {
  if (fault === 'lose') return void socket.destroy();
  if (fault === 'nonsense') return send(response, { status: 200, body: '<html>Welcome</html>' });
  if (fault !== 'cut' && fault !== 'repeat') return send(response, answer);
  const body = Buffer.from(toText(answer.body));
  const head = `HTTP/1.1 ${answer.status} OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  if (fault === 'cut') {
    socket.write(head);
    socket.end(body.subarray(0, Math.floor(body.length / 2)));
  } else {
    const whole = Buffer.concat([Buffer.from(head), body]);
    socket.end(Buffer.concat([whole, whole]));
  }
}

function send(response: ServerResponse, { status, body, headers = {} }: HttpAnswer): void {
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  response.writeHead(status, body === null ? headers : { 'content-type': type, ...headers });
  response.end(body === null ? undefined : toText(body));
}

const toText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));
