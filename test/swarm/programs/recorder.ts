import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** One request of a program and its answer. */
export type Exchange = {
  readonly method: string;
  /** The path below the address that the program got, with its query. */
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
};

export type Recorder = {
  readonly url: string;
  /** Exchanges in the order in which the requests came. */
  readonly exchanges: readonly Exchange[];
  readonly close: () => Promise<void>;
};

/** Starts a server that forwards all requests to `target` and keeps them. */
export async function startRecorder(target: string): Promise<Recorder> {
  const exchanges: Exchange[] = [];
  let numRequests = 0;
  const passOn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = request;
    const index = numRequests++;
    const body = await buffer(request);
    const { host: _host, connection: _connection, 'content-length': _length, ...others } = headers;
    const answer = await fetch(`${target}${path}`, {
      method,
      headers: Object.entries(others).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body ?? []) {
      chunks.push(chunk);
      response.write(chunk);
    }
    response.end();
    const said = { status: answer.status, answer: Buffer.concat(chunks).toString() };
    exchanges[index] = { method, path, body: body.toString(), ...said };
  };
  const server = createServer((request, response) => {
    passOn(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
