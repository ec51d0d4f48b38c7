import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { toListenError } from '@agentjet/core/servers';

/** The address at which a server listens. Port 0 picks any free port. */
export type Address = { readonly hostname: string; readonly port: number };

/** The address in the form that clients write. */
export const toUrl = ({ hostname, port }: Address, protocol: 'http' | 'https' = 'http'): string =>
  `${protocol}://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;

/**
 * Returns the origin at which a client reached the server. Behind a proxy, this is the origin in the headers that the proxy
 * sets. Without a proxy, a client could set these headers to lead the calls of an agent elsewhere, so they do not count.
 */
export function originOf(url: string, headers: IncomingHttpHeaders, isBehindProxy = false): string {
  const [protocol = '', , host = ''] = url.split('/', 3);
  if (!isBehindProxy) return `${protocol}//${host}`;
  const { 'x-forwarded-proto': scheme = protocol.slice(0, -1), 'x-forwarded-host': name = host } = headers;
  return `${String(scheme)}://${String(name)}`;
}

/**
 * Resolves with the port if a server can listen there. For port 0, it picks a free port.
 * @throws ConfigError `cannot_listen`
 */
export async function findPort(address: Address): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(address.port, address.hostname);
    await once(probe, 'listening');
  } catch (error) {
    throw toListenError(error, toUrl(address));
  }
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
