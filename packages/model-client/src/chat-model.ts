import {
  abortedByCaller,
  EngineError,
  isJsonObject,
  parseJsonObject,
  replayDeltas,
  withoutCredentials,
  type ChatDelta,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type CountingChatModel,
} from '@agentjet/core';
import { DeltaOutlet, StreamStop } from './delta-outlet.js';
import { systemModelHost, type ModelHost } from './host.js';
import type { Key } from './key-ring.js';
import {
  ModelOutage,
  ModelRefusal,
  readModelAddress,
  RequestSender,
  usualRetries,
  type RetryPolicy,
} from './request-sender.js';
import type { AnswerStream, Request } from './send-request.js';
import { ChunkReader } from './wire/chunk-reader.js';
import { toChatResponse, type Mistake } from './wire/to-chat-response.js';
import { toRequestBody } from './wire/to-request-body.js';

/** An OpenAI-compatible server. */
export type ChatServer = {
  /** The address including the version: `http://localhost:8000/v1`. A user and password in it are sent as a header. */
  readonly baseUrl: string;
  /** If the key is undefined or empty, none is sent. */
  readonly key?: { readonly value: string | undefined; readonly name: string } | undefined;
};

export type ChatModelOptions = ChatServer & {
  readonly name: string;
  /** Default: `usualRetries`. */
  readonly retries?: RetryPolicy;
  /** A connection that is silent for this long is abandoned. Default: 10 minutes. */
  readonly silenceMs?: number;
  /** Additional fields of the body and headers that this server expects. */
  readonly more?: (request: ChatRequest) => {
    readonly body?: object;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** The id of a call and of its answer. All tries of the call have the same id. Default: a random one. */
  readonly idOf?: (request: ChatRequest) => string;
  /** The message of the EngineError. Default: the message of the client's error. */
  readonly describe?: (error: ModelRefusal | ModelOutage) => string;
};

const defaultSilenceMs = 600_000;
/** The limit for listing models, which any server can answer quickly. */
const listTimeoutMs = 15_000;
const never = new AbortController().signal;

/** Creates a chat model at an address. Its calls reject with EngineError, as those of a model in this process do. */
export function createChatModel(options: ChatModelOptions, host: ModelHost = systemModelHost): ChatModel {
  const { name } = options;
  const sender = openModelSender(options, 'chat/completions', host);
  const idOf = options.idOf ?? (() => `chat-${host.random().toString(36).slice(2)}`);
  return {
    name,
    async generate(request, { signal = never, onDelta } = {}) {
      const asked = { request, callId: idOf(request), onDelta };
      try {
        signal.throwIfAborted();
        return await sender.send(toRequest(options, asked), signal);
      } catch (error) {
        if (error instanceof StreamStop) throw error.reason;
        if (signal.aborted) throw abortedByCaller(signal);
        throw toEngineError(error, options);
      }
    },
  };
}

function openModelSender(options: ChatModelOptions, route: string, host: ModelHost): RequestSender {
  const { name, retries = usualRetries, silenceMs = defaultSilenceMs } = options;
  const limit = { ms: silenceMs, of: 'silence' } as const;
  return new RequestSender({ ...connect(options, route), model: name, retries, limit }, host);
}

/** Creates a function that asks an AgentJet server how many tokens a prompt has. Other servers have no such address. */
export function createPromptCounter(
  options: ChatModelOptions,
  host: ModelHost = systemModelHost,
): CountingChatModel['countPromptTokens'] {
  const sender = openModelSender(options, 'chat/completions/count_tokens', host);
  return async (request) => {
    const { body, headers = {} } = options.more?.(request) ?? {};
    try {
      const asked = { body: { ...toRequestBody(request, options.name), ...body }, headers, read: readCount };
      return (await sender.send(asked, never)).tokens;
    } catch (error) {
      throw toEngineError(error, options);
    }
  };
}

function readCount(text: string): { readonly tokens: number } | Mistake {
  const tokens = parseJsonObject(text)?.['input_tokens'];
  return typeof tokens === 'number' ? { tokens } : { mistake: 'No number of tokens' };
}

type Asked = { readonly request: ChatRequest; readonly callId: string; readonly onDelta: ChatOptions['onDelta'] };

function toRequest({ name, more }: ChatModelOptions, { request, callId, onDelta }: Asked): Request<ChatResponse> {
  const { body, headers } = more?.(request) ?? {};
  const fallback = { id: callId, model: name };
  const outlet = onDelta && new DeltaOutlet(onDelta);
  return {
    body: {
      ...toRequestBody(request, name),
      ...(outlet !== undefined && { stream: true, stream_options: { include_usage: true } }),
      ...body,
    },
    headers: { 'idempotency-key': callId, ...headers },
    openStream: outlet && (() => openStream(outlet.nextTry(), fallback)),
    read: (text) => {
      const answer = toChatResponse(parseJsonObject(text), fallback);
      if ('mistake' in answer) return answer;
      if (outlet !== undefined) replayDeltas(answer, { onDelta: outlet.nextTry() });
      return { ...answer, id: callId };
    },
  };
}

function openStream(
  onDelta: (delta: ChatDelta) => void,
  fallback: { readonly id: string; readonly model: string },
): AnswerStream<ChatResponse> {
  const reader = new ChunkReader(onDelta);
  return {
    push: (text) => reader.push(text),
    get error() {
      return reader.error;
    },
    end() {
      const answer = reader.finish(fallback);
      return 'mistake' in answer ? answer : { ...answer, id: fallback.id };
    },
  };
}

function toEngineError(error: unknown, { describe = ({ message }) => message }: ChatModelOptions): unknown {
  if (error instanceof ModelRefusal) return new EngineError(error.code, describe(error), { cause: error });
  if (error instanceof ModelOutage) return new EngineError('failed', describe(error), { cause: error });
  return error;
}

/** Lists the models of a server. Sends one request. Rejects with ModelOutage or ModelRefusal. */
export async function listServedModels(
  server: ChatServer,
  host: ModelHost = systemModelHost,
): Promise<readonly string[]> {
  const limit = { ms: listTimeoutMs, of: 'request' } as const;
  const retries = { ...usualRetries, maxRetries: 0 };
  const sender = new RequestSender({ ...connect(server, 'models'), model: 'any', retries, limit }, host);
  const { ids } = await sender.send({ body: undefined, read: readModels }, never);
  return ids;
}

function readModels(text: string): { readonly ids: readonly string[] } | Mistake {
  const data = parseJsonObject(text)?.['data'];
  if (!Array.isArray(data)) return { mistake: 'No list of models' };
  const ids = data.map((entry: unknown) => (isJsonObject(entry) ? entry['id'] : undefined));
  return { ids: ids.filter((id) => typeof id === 'string') };
}

/**
 * Moves user and password from the address to a header, because fetch refuses them in an address and messages show the
 * address.
 */
function connect({ baseUrl, key }: ChatServer, route: string): { readonly url: URL; readonly keys: readonly Key[] } {
  const { username, password } = new URL(baseUrl);
  const url = readModelAddress(withoutCredentials(baseUrl), route);
  if (key?.value) return { url, keys: [{ value: key.value, name: key.name, isBackup: false }] };
  if (username === '' && password === '') return { url, keys: [] };
  const value = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { url, keys: [{ value, name: 'the address', isBackup: false, scheme: 'Basic' }] };
}
