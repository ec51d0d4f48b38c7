import {
  errorSchema,
  WireError,
  wireVersion,
  wireVersionHeader,
  type TasksAnswer,
  type TasksRequest,
} from '@agentjet/swarm-wire';
import type { SwarmTransport } from './protocol/worker.js';

export type HttpTransportOptions = {
  /** Of the server, without a path: `http://127.0.0.1:8700`. */
  readonly url: string;
  readonly key?: string;
  /** A request without an answer after so long is repeated. */
  readonly timeoutMs?: number;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
};

/** Requests to a server over HTTP. An error of the server is a WireError; everything else means that it was not reached. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { url, key, timeoutMs = 60_000 } = options;
  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await options.fetch(`${url.replace(/\/+$/, '')}/swarm/v1${path}`, {
      method,
      headers: {
        [wireVersionHeader]: wireVersion,
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    throw toError(response.status, answer);
  };
  const on = (episodeId: string, verb: string): string => `/episodes/${encodeURIComponent(episodeId)}/${verb}`;
  return {
    claim: async (request) =>
      (await send('POST', '/episodes', request)) as Awaited<ReturnType<SwarmTransport['claim']>>,
    heartbeat: async (request) =>
      (await send('POST', '/heartbeats', request)) as Awaited<ReturnType<SwarmTransport['heartbeat']>>,
    end: async (id, request) =>
      (await send('POST', on(id, 'end'), request)) as Awaited<ReturnType<SwarmTransport['end']>>,
    abandon: async (id, request) =>
      (await send('POST', on(id, 'abandon'), request)) as Awaited<ReturnType<SwarmTransport['abandon']>>,
    addTasks: async (request) => (await send('POST', '/tasks', request)) as TasksAnswer,
  };
}

export type HttpTransport = SwarmTransport & { readonly addTasks: (request: TasksRequest) => Promise<TasksAnswer> };

function toError(status: number, answer: unknown): Error {
  const parsed = errorSchema.safeParse(answer);
  if (!parsed.success)
    return new Error(`The server answered ${status} without a reason; is something else at this address?`);
  const { code, message, retry_after_ms: retryAfterMs, details } = parsed.data.error;
  return new WireError(code, message, {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(details !== undefined && { details }),
  });
}
