import { timingSafeEqual } from 'node:crypto';
import { codeOfError, ConfigError, toErrorMessage } from './errors.js';
import { sha256 } from './sha256.js';

/** All HTTP servers of the project use these functions. */

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there. End that one, or give another --port',
  EACCES: 'this user may not listen there. Give a --port of 1024 or above',
  EADDRNOTAVAIL: 'this machine does not have the address. Correct --host',
  ENOTFOUND: 'there is no such name. Correct --host',
};

/** Returns the error of a server that cannot listen at an address, with the repair. */
export function toListenError(cause: unknown, address: string): ConfigError {
  const reason = listenReasons[codeOfError(cause) ?? ''] ?? toErrorMessage(cause);
  return new ConfigError('cannot_listen', `The server cannot listen at ${address}: ${reason}.`, { cause });
}

/** The part of a Node server that closing needs. A server of HTTP/2 cannot close its connections at once. */
type ClosableServer = { close(onClosed: () => void): unknown; closeAllConnections?: () => void };

/** Closes a server and its connections. Resolves when its port is free. */
export function closeServer(server: ClosableServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections?.();
  });
}

/** Compares two secrets. How long it takes does not say where they differ. */
export const isSameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(expected)));

/** Whether an address such as `http://127.0.0.1:8700` is of this machine. False for a string that is not an address. */
export function isLoopbackAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { hostname } = new URL(address);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
