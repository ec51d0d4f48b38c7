import { setTimeout as sleep } from 'node:timers/promises';
import { fromCompletion, toRequestBody } from '@agentjet/chat-completions';
import {
  ConfigError,
  EngineError,
  toErrorMessage,
  withoutCredentials,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type SamplingOptions,
} from '@agentjet/core';
import { replayDeltas } from '@agentjet/rollout/inputs';

export type EndpointModelOptions = {
  /** With the version in it: `http://localhost:8000/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Null: the first model that the endpoint lists. */
  readonly model: string | null;
  /** For what a request leaves open. */
  readonly sampling: SamplingOptions;
};

const retryDelaysMs = [500, 2000];
/** For the list of models, which any server has at hand. */
const listTimeoutMs = 15_000;

type Connection = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/** User and password of an address go into a header: fetch refuses them in the address, and messages show the address. */
function connect({ apiKey, baseUrl }: EndpointModelOptions): Connection {
  const { username, password } = new URL(baseUrl);
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const basic = username === '' && password === '' ? undefined : `Basic ${user}`;
  const authorization = apiKey === undefined ? basic : `Bearer ${apiKey}`;
  return {
    baseUrl: withoutCredentials(baseUrl).replace(/\/+$/, ''),
    headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
  };
}

async function fetchJson(
  connection: Connection,
  path: string,
  init: RequestInit,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`${connection.baseUrl}${path}`, { ...init, headers: connection.headers });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: text }; // an error page: shown as it is
  }
}

const excerpt = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 300);

/** fetch says only "fetch failed"; the reason is in its cause. */
function describeFailure(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return [toErrorMessage(error), code ?? (cause === undefined ? undefined : toErrorMessage(cause))]
    .filter(Boolean)
    .join(': ');
}

const keyRepair = 'Set debug.api_key, or the environment variable OPENAI_API_KEY, to a key that is valid there.';
const isRefusal = (status: number): boolean => status === 401 || status === 403;

/** What to try, by what the endpoint answered. */
function repairFor(status: number, model: string): string {
  if (isRefusal(status)) return ` ${keyRepair}`;
  return status === 404 ? ` Does debug.base_url end as it should (often in /v1), and is there a model "${model}"?` : '';
}

async function findFirstModel(connection: Connection): Promise<string> {
  const repair = 'Set debug.model to the name of the model there.';
  const answer = await fetchJson(connection, '/models', { signal: AbortSignal.timeout(listTimeoutMs) }).catch(
    (error: unknown) => {
      throw new ConfigError(
        'unreachable',
        `The endpoint debug.base_url ${connection.baseUrl} cannot be reached (${describeFailure(error)}). Start it, or correct the address.`,
        { cause: error },
      );
    },
  );
  if (isRefusal(answer.status))
    throw new ConfigError(
      'refused',
      `${connection.baseUrl}/models refuses the key (status ${answer.status}: ${excerpt(answer.body)}). ${keyRepair}`,
    );
  const models = (answer.body as { data?: readonly { id?: unknown }[] } | null)?.data;
  const id = models?.[0]?.id;
  if (typeof id !== 'string')
    throw new ConfigError(
      'no_model',
      `${connection.baseUrl}/models lists no model (status ${answer.status}: ${excerpt(answer.body)}). ${repair}`,
    );
  return id;
}

const isWorthRetrying = (status: number): boolean => status === 429 || status >= 500;

async function requestOnce(connection: Connection, body: string, signal: AbortSignal | undefined) {
  try {
    return await fetchJson(connection, '/chat/completions', {
      method: 'POST',
      body,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw new EngineError('aborted', 'The call was aborted.', { cause: signal.reason });
    throw new EngineError(
      'failed',
      `The endpoint ${connection.baseUrl} did not answer (${describeFailure(error)}). Check debug.base_url.`,
      { cause: error },
    );
  }
}

type ChatCall = { readonly model: string; readonly body: string; readonly signal: AbortSignal | undefined };

async function requestWithRetries(connection: Connection, call: ChatCall, delaysMs = retryDelaysMs): Promise<unknown> {
  const { model, body, signal } = call;
  const answer = await requestOnce(connection, body, signal);
  if (answer.status < 400) return answer.body;
  const [delayMs, ...laterMs] = delaysMs;
  if (delayMs === undefined || !isWorthRetrying(answer.status)) {
    throw new EngineError(
      'failed',
      `The endpoint ${connection.baseUrl} answered with status ${answer.status}: ${excerpt(answer.body)}.${repairFor(answer.status, model)}`,
    );
  }
  await sleep(delayMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  return requestWithRetries(connection, call, laterMs);
}

/** A ChatModel behind an OpenAI-compatible address. A streamed answer comes as one burst of deltas. */
export async function createEndpointModel(options: EndpointModelOptions): Promise<ChatModel> {
  const connection = connect(options);
  const name = options.model ?? (await findFirstModel(connection));
  let calls = 0;
  return {
    name,
    async generate(request: ChatRequest, callOptions: ChatOptions = {}): Promise<ChatResponse> {
      const sampling = { ...options.sampling, ...request.sampling };
      const body = JSON.stringify(toRequestBody({ ...request, sampling }, name));
      const answer = await requestWithRetries(connection, { model: name, body, signal: callOptions.signal });
      const response = fromCompletion(answer, { id: `chat-${++calls}`, model: name });
      replayDeltas(response, callOptions);
      return response;
    },
  };
}
