import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { serve, type HttpBindings, type ServerType } from '@hono/node-server';
import { toListenError } from '@agentjet/core/servers';
import { toUrl } from './address.js';

/** How long an idle connection stays open. */
const idleMs = 10 * 60_000;

type Listen = {
  readonly hostname: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
};

/** Resolves when the server listens. */
export function listen(
  fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>,
  { hostname, port, tls }: Listen,
): Promise<ServerType> {
  const secure =
    tls === undefined
      ? {}
      : { createServer, serverOptions: { cert: readFileSync(tls.cert), key: readFileSync(tls.key) } };
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: fetch as Parameters<typeof serve>[0]['fetch'], hostname, port, ...secure }, () =>
      resolve(server),
    );
    server.once('error', (error) => reject(toListenError(error, toUrl({ hostname, port }))));
    // Clients keep idle connections for about a minute. If the server closed one while a client writes, a request would
    // be lost, so the server keeps them longer.
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = idleMs;
  });
}
