import { ChunkReader, fromCompletion, toRequestBody } from '@agentjet/chat-completions';
import {
  EngineError,
  toErrorMessage,
  type ChatDelta,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
} from '@agentjet/core';
import { replayDeltas, toStepId } from '@agentjet/rollout';
import { newId, type ClientHost } from '../host.js';
import { retry } from '../protocol/retry.js';
import { DeltaOutlet, DivergedAnswer } from './delta-outlet.js';
import { ServerAway, toModelFailure } from './model-failure.js';

/**
 * The tuned model of an agent, behind the address that the server gave to its episode. It answers as the model in the server's
 * own process does: same errors, same streams, same aborts. A call is repeated with one id for as long as the server is away,
 * so an outage of the server costs time and never a second sample.
 */
export type RemoteModelOptions = {
  readonly host: ClientHost;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Of one agent, with `/v1` at its end. */
  readonly address: string;
  readonly key: string;
  readonly name: string;
  /** A connection that says nothing for so long is given up, and the call sent again. The server sends a sign of life every 15 s. */
  readonly silenceMs?: number;
  /** Told how long the call is going to wait for a server that is away. */
  readonly onAway?: ((message: string, waitMs: number) => void) | undefined;
  /** Told of each answer that is trained, by the id of its call. */
  readonly onTurn?: ((callId: string) => void) | undefined;
  /** The server says that the episode is over. */
  readonly onGone?: ((message: string) => void) | undefined;
  /** The server does not train this agent's target. */
  readonly onNotTrained?: ((message: string) => void) | undefined;
};

/** Calls reject with EngineError, as those of `createTunedModel` do. An answer has the id of its call. */
export function createRemoteModel(options: RemoteModelOptions): ChatModel {
  return { name: options.name, generate: (request, callOptions = {}) => generate(options, request, callOptions) };
}

async function generate(options: RemoteModelOptions, request: ChatRequest, call: ChatOptions): Promise<ChatResponse> {
  const { host, onAway, onGone, onNotTrained } = options;
  const { signal, onDelta } = call;
  if (isAborted(signal)) throw abortedBy(signal);
  const callId = request.requestId === undefined ? newId(host) : toStepId(request.requestId, request);
  const outlet = onDelta === undefined ? undefined : new DeltaOutlet(onDelta);
  try {
    const answer = await retry(host, () => askOnce(options, { request, callId, signal, onDelta: outlet?.nextTry() }), {
      ...(signal !== undefined && { signal }),
      isFinal: (error) => outlet?.thrown !== undefined || !(error instanceof ServerAway),
      onRetry: (error, waitMs) => onAway?.(toErrorMessage(error), waitMs),
    });
    if (request.isTrained !== false) options.onTurn?.(callId);
    return answer;
  } catch (error) {
    if (outlet?.thrown !== undefined) throw outlet.thrown.error;
    if (isAborted(signal)) throw abortedBy(signal);
    if (error instanceof DivergedAnswer)
      throw new EngineError('failed', 'The server was restarted and answered a call otherwise than before.');
    if (error instanceof EngineError && error.code === 'closed') onGone?.(error.message);
    if (error instanceof EngineError && error.code === 'target_not_trained') onNotTrained?.(error.message);
    throw error;
  }
}

const isAborted = (signal: AbortSignal | undefined): signal is AbortSignal => signal?.aborted === true;

const abortedBy = (signal: AbortSignal): EngineError =>
  new EngineError('aborted', 'The call was aborted by its caller.', { cause: signal.reason });

type Try = {
  readonly request: ChatRequest;
  readonly callId: string;
  readonly signal: AbortSignal | undefined;
  readonly onDelta: ((delta: ChatDelta) => void) | undefined;
};

async function askOnce(options: RemoteModelOptions, { request, callId, signal, onDelta }: Try): Promise<ChatResponse> {
  const { host, name, silenceMs = 60_000 } = options;
  const silence = new Silence(host, silenceMs);
  const fallback = { id: callId, model: name };
  try {
    const response = await send(options, { request, callId, onDelta, signal: silence.linkTo(signal) });
    const reader = onDelta !== undefined && isEventStream(response) ? new ChunkReader(onDelta) : undefined;
    const text = await readText(response, (part) => {
      silence.begin();
      reader?.push(part);
    });
    if (reader !== undefined) {
      if (reader.error !== undefined) throw toModelFailure(500, reader.error);
      if (!reader.isDone) throw new ServerAway('The stream broke off.');
      return { ...reader.finish(fallback), id: callId };
    }
    const answer = { ...fromCompletion(parseAnswer(response, text), fallback), id: callId };
    if (onDelta !== undefined) replayDeltas(answer, { onDelta });
    return answer;
  } finally {
    silence.end();
  }
}

async function send(
  options: RemoteModelOptions,
  { request, callId, signal, onDelta }: Try & { readonly signal: AbortSignal },
): Promise<Response> {
  const { address, key, name } = options;
  const body = {
    ...toRequestBody(request, request.model ?? name),
    top_k: request.sampling?.topK,
    ...(onDelta !== undefined && { stream: true, stream_options: { include_usage: true } }),
  };
  try {
    return await options.fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': callId,
        ...(request.isTrained === false && { 'x-ajet-train': 'false' }),
      },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    throw unreached(error);
  }
}

const isEventStream = (response: Response): boolean =>
  response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream');

/** What came, also if the connection was cut: the server writes the error of a long call into a body that it then breaks off. */
async function readText(response: Response, onPart: (part: string) => void): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  for (;;) {
    const next = await reader?.read().catch((error: unknown) => {
      if (parseJson(text) === undefined) throw unreached(error);
      return undefined;
    });
    if (next === undefined || next.done) return text;
    const part = decoder.decode(next.value, { stream: true });
    text += part;
    onPart(part);
  }
}

/** The body of a completion. Throws what any other body means. */
function parseAnswer(response: Response, text: string): unknown {
  const body = parseJson(text);
  const isError = typeof body === 'object' && body !== null && 'error' in body;
  if (response.ok && body !== undefined && !isError) return body;
  if (response.ok && body === undefined) throw new ServerAway('The answer broke off.');
  throw toModelFailure(response.ok ? 500 : response.status, body ?? text, response.headers.get('retry-after'));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** fetch says only "fetch failed"; the reason is in its cause. */
function unreached(error: unknown): ServerAway {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return new ServerAway(`${toErrorMessage(error)}${cause}`, { cause: error });
}

/** Aborts a request after a silence, or with its caller's signal. */
class Silence {
  readonly #controller = new AbortController();
  readonly #host: ClientHost;
  readonly #limitMs: number;
  #cancel: (() => void) | undefined;
  #release: (() => void) | undefined;

  constructor(host: ClientHost, limitMs: number) {
    this.#host = host;
    this.#limitMs = limitMs;
  }

  linkTo(signal: AbortSignal | undefined): AbortSignal {
    const onAbort = (): void => this.#controller.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#release = () => signal?.removeEventListener('abort', onAbort);
    this.begin();
    return this.#controller.signal;
  }

  begin(): void {
    this.#cancel?.();
    this.#cancel = this.#host.after(this.#limitMs, () =>
      this.#controller.abort(new Error(`The server said nothing for ${this.#limitMs / 1000} s.`)),
    );
  }

  /** Also ends a request whose answer nobody reads any more. */
  end(): void {
    this.#cancel?.();
    this.#release?.();
    this.#controller.abort(new Error('The call has ended.'));
  }
}
