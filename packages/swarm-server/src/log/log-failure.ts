import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { WireError } from '@agentjet/swarm-wire';
import type { Log, LogEntry } from './log-entry.js';

export const requestIdHeader = 'x-request-id';

const clients = new WeakMap<Context, string>();

/** Notes the client of a request, so that the log can name the client if the request fails. */
export function noteClient(context: Context, body: unknown): void {
  const client = (body as { readonly client?: unknown } | null)?.client;
  if (typeof client === 'string') clients.set(context, client);
}

/** Returns the id that the caller or a proxy gave the request, or a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,100}$/.test(given) ? given : randomUUID();
}

/**
 * Logs a request that the server failed to answer. The answer to every failed request gets the id of the request. A
 * request that the client has to correct is not logged, only counted in the metrics.
 */
export function logFailure(context: Context, error: unknown, log: Log): void {
  const request = requestIdOf(context.req.header(requestIdHeader));
  context.header(requestIdHeader, request);
  const isKnown = error instanceof WireError;
  if (isKnown && (error.status < 500 || error.code === 'not_ready')) return;
  const { method, path } = context.req;
  const cause = isKnown || !(error instanceof Error) ? String(error) : (error.stack ?? error.message);
  const episode = /\/episodes\/([^/]+)/.exec(path)?.[1];
  const ids: Partial<LogEntry> = { episode, client: clients.get(context), request };
  log({ level: 'error', message: `${method} ${path} failed: ${cause}`, code: isKnown ? error.code : 'failed', ...ids });
}
