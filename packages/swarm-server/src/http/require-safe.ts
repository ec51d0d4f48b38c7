import { ConfigError } from '@agentjet/core';

type Listening = {
  readonly hostname?: string | undefined;
  readonly tls?: object | undefined;
  readonly isBehindProxy?: boolean | undefined;
  readonly app?: { readonly needsKey?: boolean } | undefined;
};

/** Throws ConfigError if keys would be sent unprotected, or if a server without keys could be reached from outside. */
export function requireSafe({ hostname = '127.0.0.1', tls, isBehindProxy = false, app }: Listening): void {
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(hostname);
  if (isLocal) return;
  if (app?.needsKey === false) {
    throw new ConfigError(
      'keys_needed',
      `Without keys the server listens on loopback only, not on ${hostname}. Leave --no-keys out.`,
    );
  }
  if (tls !== undefined || isBehindProxy) return;
  throw new ConfigError(
    'tls_needed',
    `The server would send keys over plain HTTP on ${hostname}. Give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of it uses TLS, or use loopback through an ssh tunnel.`,
  );
}
