import { STATUS_CODES } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';

/**
 * Answers a request whose body is not worth reading, such as one without a valid key. The body stays unread: Node stops
 * reading after its own buffer of 64 KiB. The connection is closed in two steps, because a client that is still writing
 * when the connection breaks never sees the answer. The server's half closes at once, and the other half closes when
 * the client leaves or after a second.
 */
export function refuse({ incoming, outgoing }: HttpBindings, answer: Response): Response | Promise<Response> {
  const { socket } = outgoing;
  if (!hasBody(incoming.headers) || socket === null || !('destroySoon' in socket)) return withClose(answer);
  return answer.text().then((body) => {
    const head = [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
      ...[...answer.headers].map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(timer));
    return RESPONSE_ALREADY_SENT;
  });
}

const lingerMs = 1_000;

/** Makes Node close the connection after the answer. That is enough for a request without an unread body. */
function withClose(answer: Response): Response {
  const headers = new Headers(answer.headers);
  headers.set('connection', 'close');
  return new Response(answer.body, { status: answer.status, headers });
}

function hasBody(headers: HttpBindings['incoming']['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
