import { ConfigError, parseJson } from '@agentjet/core';
import {
  errorSchema,
  WireError,
  wireVersion,
  wireVersionHeader,
  type EndRequest,
  type ServerAnswer,
  type TasksAnswer,
  type TasksRequest,
} from '@agentjet/swarm-wire';
import { withTimeLimit, type HostFetch } from './host.js';
import type { SwarmTransport } from './protocol/worker.js';

/** Options of `createHttpTransport`. */
export type HttpTransportOptions = {
  /** The address of the server, without a path: `http://127.0.0.1:8700`. */
  readonly url: string;
  readonly key?: string;
  /** A request without an answer after this time is repeated. */
  readonly timeoutMs?: number;
  readonly fetch: HostFetch;
};

export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<unknown>;

/** Trims the key. Throws ConfigError, without showing the key, if it has characters that a header must not contain. */
function checkKey(given: string | undefined): string | undefined {
  const key = given?.trim();
  if (key === undefined || /^[!-~]+$/.test(key)) return key;
  throw new ConfigError(
    'wrong_key',
    'The key has characters that no key has, such as a space or a line break. Copy it again: ajk_<role>_<id>_<secret>.',
  );
}

/**
 * Sends one request to a server. Rejects with WireError if the server answers with an error; any other rejection means
 * that the server was not reached.
 */
export function createSender(options: HttpTransportOptions): Send {
  const { url, timeoutMs = 60_000 } = options;
  const key = checkKey(options.key);
  return (method, path, body, headers = {}) =>
    withTimeLimit(timeoutMs, async (signal) => {
      const response = await options.fetch(`${url.replace(/\/+$/, '')}/swarm/v1${path}`, {
        method,
        headers: {
          [wireVersionHeader]: wireVersion,
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
      });
      const text = await response.text();
      const answer = parseJson(text);
      if (response.ok && answer !== undefined) return answer;
      throw toError(response.status, answer ?? text, url);
    });
}

/** The requests of a client over HTTP. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const send = createSender(options);
  const on = (episodeId: string, verb: string): string => `/episodes/${encodeURIComponent(episodeId)}/${verb}`;
  return {
    claim: async (request) =>
      (await send('POST', '/episodes', request)) as Awaited<ReturnType<SwarmTransport['claim']>>,
    heartbeat: async (request) =>
      (await send('POST', '/heartbeats', request)) as Awaited<ReturnType<SwarmTransport['heartbeat']>>,
    end: async (id, request) => {
      requireNumbers(request);
      return (await send('POST', on(id, 'end'), request)) as Awaited<ReturnType<SwarmTransport['end']>>;
    },
    abandon: async (id, request) =>
      (await send('POST', on(id, 'abandon'), request)) as Awaited<ReturnType<SwarmTransport['abandon']>>,
    addTasks: async (request) => (await send('POST', '/tasks', request)) as TasksAnswer,
    server: async () => (await send('GET', '/server')) as ServerAnswer,
  };
}

/** The requests of a client over HTTP. */
export type HttpTransport = SwarmTransport & {
  readonly addTasks: (request: TasksRequest) => Promise<TasksAnswer>;
  readonly server: () => Promise<ServerAnswer>;
};

/**
 * Throws WireError if a reward is NaN or Infinity. JSON would turn it into null, and a null reward means that the
 * reward comes later.
 */
function requireNumbers({ reward, rewards = {} }: EndRequest): void {
  const wrong = [reward, ...Object.values(rewards)].find((value) => value !== null && !Number.isFinite(value));
  if (wrong === undefined) return;
  throw new WireError('invalid_request', `The reward is ${String(wrong)}. Give a finite number.`);
}

/**
 * Converts an answer that is not a success. An answer in another form comes from a proxy whose server is away, or from
 * a server that is not a swarm.
 */
function toError(status: number, answer: unknown, url: string): Error {
  const parsed = errorSchema.safeParse(answer);
  if (parsed.success) {
    const { code, message, retry_after_ms: retryAfterMs, details } = parsed.data.error;
    return new WireError(code, message, {
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(details !== undefined && { details }),
    });
  }
  const shown = `${url} answered with status ${status}: ${String(typeof answer === 'string' ? answer : JSON.stringify(answer)).slice(0, 200)}`;
  if (status === 429 || status >= 500) return new Error(shown);
  return new ConfigError('not_a_swarm', `${shown}. This is not a swarm server of this version; correct the address.`);
}
