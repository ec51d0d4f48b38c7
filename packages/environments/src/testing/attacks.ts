import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Attack } from './faults.js';

type Unasked = Exclude<Attack, 'foreign'>;

const floodBytes = 100 * 2 ** 20;
const dripMs = 20;
const nested = `{"output": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
const part = Buffer.alloc(2 ** 20, 'x');

/** Answers a request until the client disconnects. */
export async function attackHttp(response: ServerResponse, attack: Unasked): Promise<void> {
  response.on('error', () => undefined);
  response.writeHead(200, { 'content-type': 'application/json' });
  if (attack === 'nest') return void response.end(nested);
  response.write('{"output": "');
  if (attack === 'drip')
    return drip(
      () => response.destroyed,
      () => response.write('x'),
    );
  for (let sent = 0; sent < floodBytes && !response.destroyed; sent += part.length)
    if (!response.write(part)) await drained(response);
  response.end('"}');
}

/**
 * Waits until the client has read what was sent, but only for a short time, because a client that has left reads
 * nothing more.
 */
async function drained(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const isDrained = once(response, 'drain', { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([isDrained, wait(dripMs)]);
  waiting.abort(); // so that no listener stays
}

async function drip(isOver: () => boolean, send: () => void): Promise<void> {
  while (!isOver()) {
    send();
    await wait(dripMs);
  }
}

/** Answers with one frame, or with one that does not end. */
export function attackSocket(socket: WebSocket, attack: Unasked): void {
  if (attack === 'nest') return socket.send(nested);
  if (attack === 'flood') return socket.send('x'.repeat(floodBytes));
  const send = (): void => socket.send('x', { fin: false }, () => undefined);
  void drip(() => socket.readyState !== socket.OPEN, send);
}
