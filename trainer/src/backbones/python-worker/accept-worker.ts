import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import os from 'node:os';

import { FrameReader } from './frames.js';
import { parseWorkerMessage, schemaVersion, type HelloMessage } from './messages.js';

export type ListeningDoor = {
  /** The address for the worker, as host:port. */
  readonly address: string;
  /**
   * Resolves with the first connection that sends the right token and schema version. Rejects if a connection sends
   * another version.
   */
  readonly connection: Promise<{
    readonly socket: Socket;
    readonly reader: FrameReader;
    readonly early: readonly unknown[];
  }>;
  close(): void;
};

/** Listens for one worker, on the loopback by default. It closes connections that do not send the token. */
export async function openDoor(token: string, host: string, port = 0): Promise<ListeningDoor> {
  const server = createServer();
  const connection = firstWorker(server, token);
  connection.catch(() => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return { address: `${reachableName(host)}:${boundPort}`, connection, close: () => server.close() };
}

/**
 * Returns the name of this machine if the server listens on all addresses, because a worker on another machine cannot
 * connect to such an address.
 */
function reachableName(host: string): string {
  return host === '0.0.0.0' || host === '::' ? os.hostname() : host;
}

function firstWorker(server: Server, token: string): ListeningDoor['connection'] {
  return new Promise((resolve, reject) => {
    server.on('connection', (socket) => {
      const reader = new FrameReader();
      const onData = (chunk: Buffer): void => {
        try {
          const [first, ...early] = reader.push(chunk);
          if (first === undefined) return;
          socket.off('data', onData);
          checkHello(parseWorkerMessage(first), token);
          socket.pause();
          resolve({ socket, reader, early });
        } catch (error) {
          socket.destroy();
          if (error instanceof SchemaMismatch) reject(error);
        }
      };
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('data', onData);
    });
  });
}

class SchemaMismatch extends Error {}

function checkHello(message: { readonly kind: string }, token: string): void {
  if (message.kind !== 'hello') throw new Error('The first message must be hello.');
  const hello = message as HelloMessage;
  const given = Buffer.from(String(hello.token));
  const expected = Buffer.from(token);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new Error('Wrong token.');
  if (hello.schema === schemaVersion) return;
  throw new SchemaMismatch(
    `The worker uses schema ${hello.schema} of the messages, but this release needs ${schemaVersion}. Install the worker's Python package from the same release.`,
  );
}
