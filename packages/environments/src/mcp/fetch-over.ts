import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable, type Duplex } from 'node:stream';
import { connect as secure } from 'node:tls';

/** Opens a connection to a host and a port. */
export type Dial = (host: string, port: number) => Promise<Duplex>;

/**
 * Creates a `fetch` whose connections somebody else opens, such as a program inside of a box. Each request has one
 * connection. Redirects are returned and not followed.
 */
export function fetchOver(dial: Dial): typeof fetch {
  return async (given, init = {}) => {
    const { url, method, headers, body, signal } = new Request(given, init);
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    const isSecure = protocol === 'https:';
    const plain = await dial(host, Number(port || (isSecure ? 443 : 80)));
    const socket = isSecure ? secure({ socket: plain, servername: host }) : plain;
    const sent = body === null ? undefined : Buffer.from(await new Response(body).arrayBuffer());
    return new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)({
        method,
        host: hostname,
        port,
        path: `${pathname}${search}`,
        headers: { ...Object.fromEntries(headers), connection: 'close' },
        createConnection: () => socket,
        signal,
      });
      request.on('error', (error) => {
        plain.destroy();
        reject(error);
      });
      request.once('response', (answer) => {
        answer.once('close', () => plain.destroy());
        const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        );
        const status = answer.statusCode ?? 502;
        const hasBody = status !== 204 && status !== 205 && status !== 304 && method !== 'HEAD';
        if (!hasBody) answer.resume();
        resolve(new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers: fields }));
      });
      request.end(sent);
    });
  };
}
