import type { IncomingHttpHeaders } from 'node:http';
import { WireError } from '@agentjet/swarm-wire';

const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Protects a server without keys from web pages in a browser on the same machine. The request must name this machine, so that a
 * foreign name that resolves to it (DNS rebinding) is refused, and it must not come from another origin.
 * @throws WireError `foreign_origin`
 */
export function requireOwnMachine({ host = '', origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>): void {
  if (!loopback.test(host)) throw refusal('Host', host);
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    throw refusal('Origin', origin);
}

const refusal = (header: string, value: string): WireError =>
  new WireError(
    'foreign_origin',
    `This server has no keys (--no-keys) and answers programs of this machine only, but the header ${header} is ${JSON.stringify(value)}. Use http://127.0.0.1, or start the server with keys.`,
  );
