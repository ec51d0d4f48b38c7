import { type ChatModel, sha256 } from '@agentjet/core';
import type { StreamListeners } from './answer.js';
import { ApiError, toApiError } from './api-error.js';
import { markRequest, toCallMark } from './call-mark.js';
import { createEventStreamResponse } from './event-stream.js';
import { type Api, type ApiRoute, countPromptTokens, type ProtocolCall } from './protocol-call.js';

export type InProcessOptions = {
  readonly api: Api;
  /** Continues the error of an address that is not served: what to use instead. */
  readonly advice: string;
  /** Changes what a stream's listeners get, for the reader that sent these headers. */
  readonly adaptListeners?: (listeners: StreamListeners, headers: Headers) => FlushedListeners;
};

/** Listeners that may hold pieces back until the end of the answer. */
export type FlushedListeners = StreamListeners & { readonly flush?: () => void };

/** The `fetch` of an SDK. */
export type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Replaces `fetch` in the SDK of an API with a ChatModel in this process. Parsing, streams, helpers and errors remain
 * the SDK's own.
 */
export function createInProcessFetch(model: ChatModel, options: InProcessOptions): Fetch {
  const keyed = new Map<string, string>();
  return async (target, init = {}) => {
    try {
      const url = new URL(target instanceof Request ? target.url : target);
      return await answer(url, init, { ...options, model, keyed });
    } catch (thrown) {
      if (init.signal?.aborted) throw abortError();
      const error = toApiError(thrown);
      return Response.json(options.api.toErrorBody(error), { status: error.status, headers: error.headers });
    }
  };
}

/** `keyed` maps each idempotency key of this client to the body that was sent with it. */
type Served = InProcessOptions & { readonly model: ChatModel; readonly keyed: Map<string, string> };

async function answer(url: URL, init: RequestInit, served: Served): Promise<Response> {
  const { pathname } = url;
  const method = init.method?.toUpperCase() ?? 'GET';
  const route = served.api.routes.find(({ path }) => matchesPath(path, pathname));
  const described = method === 'GET' ? describeModels(served, pathname) : undefined;
  if (described !== undefined) return Response.json(described);
  if (route === undefined || method !== 'POST')
    throw new ApiError(404, 'not_found', `${method} ${pathname} is not served in process. ${served.advice}`);
  const response = await route.handle(openCall(route, url, { init, served }));
  if (init.signal?.aborted) throw abortError();
  return response;
}

/** Returns the list of models, or the description of one. Undefined for any other address. */
function describeModels({ api: { models }, model: { name } }: Served, pathname: string): unknown {
  if (models === undefined) return undefined;
  if (models.paths.includes(pathname)) return models.list(name);
  return models.paths.some((path) => pathname.startsWith(`${path}/`)) ? models.show(name) : undefined;
}

function matchesPath(path: string, pathname: string): boolean {
  const [wanted, given] = [path.split('/'), pathname.split('/')];
  return wanted.length === given.length && wanted.every((part, at) => part.startsWith(':') || part === given[at]);
}

function openCall(
  { protocol, complete }: ApiRoute,
  url: URL,
  { init, served }: { readonly init: RequestInit; readonly served: Served },
): ProtocolCall {
  const { model, keyed, adaptListeners } = served;
  const headers = new Headers(init.headers);
  const text = typeof init.body === 'string' ? init.body : '{}';
  const sent: unknown = JSON.parse(text);
  const body = complete === undefined ? sent : complete(sent, url);
  const key = headers.get('idempotency-key');
  if (key !== null && !key.startsWith(sdksOwn)) claimKey(keyed, key, sha256(`${url.pathname}\n${text}`, 'base64url'));
  const mark = toCallMark(protocol, headers, body);
  const left = followSignal(init.signal);
  const cancel = (reason: string): void => left.abort(new Error(reason));
  return {
    url,
    body,
    requestId: (choice) => (key === null ? undefined : `${key}#${choice}`),
    generate: async (plain, listeners) => {
      const request = markRequest(plain, mark);
      if (listeners === undefined) return model.generate(request, { signal: left.signal });
      const { flush, ...adapted }: FlushedListeners = adaptListeners?.(listeners, headers) ?? listeners;
      const response = await model.generate(request, { ...adapted, signal: left.signal });
      flush?.();
      return response;
    },
    countPromptTokens: (request) => countPromptTokens(model, markRequest(request, mark)),
    cancel,
    respondJson: async (pending) => Response.json(await pending),
    respondEvents: (produce, eventProtocol) =>
      createEventStreamResponse(produce, {
        ...eventProtocol,
        cancel: () => cancel('The reader left the stream.'),
        breakWith: () => (init.signal?.aborted === true ? abortError() : undefined),
      }),
  };
}

/** The prefix of keys that OpenAI's SDK generates if the caller gives none. Each of these keys belongs to one call. */
const sdksOwn = 'stainless-node-retry-';

function followSignal(signal: AbortSignal | null | undefined): AbortController {
  const left = new AbortController();
  const abort = (): void => left.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return left;
}

function abortError(): DOMException {
  return new DOMException('The call was aborted.', 'AbortError');
}

/**
 * Records the hash of the request that a key is used for. Throws ApiError 400 if the key was used with another
 * request.
 */
export function claimKey(claimed: Map<string, string>, key: string, hash: string): void {
  if ((claimed.get(key) ?? hash) !== hash) {
    throw new ApiError(
      400,
      'idempotency_key_reused',
      `The idempotency-key '${key}' was used with another request. Use a new key for each call, and the same one for its retries.`,
    );
  }
  claimed.set(key, hash);
}
