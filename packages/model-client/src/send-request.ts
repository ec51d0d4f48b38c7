import { parseJsonObject, toErrorMessage, codeOfError } from '@agentjet/core';
import { StreamStop } from './delta-outlet.js';
import type { HttpAnswer, ModelHost } from './host.js';
import { Leash, type TimeLimit } from './leash.js';
import { readRefusal, shorten, type Failed } from './read-refusal.js';
import type { Mistake } from './wire/to-chat-response.js';

/** The outcome of one request. Messages name the cause. */
export type Sent<Answer> = { readonly kind: 'answer'; readonly answer: Answer } | Failed;

export type ModelAddress = {
  readonly url: string;
  /** The header with the key. If it is undefined, no key is sent. */
  readonly authorization: string | undefined;
  readonly limit: TimeLimit;
};

/** Reads an answer while it arrives. */
export interface AnswerStream<Answer> {
  push(text: string): void;
  /** The body of an error that the server sent in the middle of the stream. */
  readonly error: unknown;
  end(): Answer | Mistake;
}

export type Request<Answer> = {
  /** If it is undefined, the request is a GET. */
  readonly body: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parses the body of a response, or returns what is wrong with it. */
  readonly read: (body: string) => Answer | Mistake;
  /** For servers that answer with events. Each try opens another stream. */
  readonly openStream?: (() => AnswerStream<Answer>) | undefined;
};

/** The maximum size of an answer. A model does not write a longer one. */
const maxBodyBytes = 8 * 1024 * 1024;

/** Sends one request. Rejects only if the signal aborts, or with StreamStop. */
export async function sendRequest<Answer extends object>(
  { body, headers, read, openStream }: Request<Answer>,
  { url, authorization, limit }: ModelAddress,
  { host, signal }: { readonly host: ModelHost; readonly signal: AbortSignal },
): Promise<Sent<Answer>> {
  const leash = new Leash(limit, signal);
  try {
    const response = await host.fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(authorization !== undefined && { authorization }),
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: leash.signal,
      redirect: 'error',
    });
    const stream = isEventStream(response) ? openStream?.() : undefined;
    const text = await readBody(response, leash, stream);
    if (stream?.error !== undefined) return readRefusal(500, JSON.stringify(stream.error), response.headers);
    if (stream === undefined && (!response.ok || hasError(text)))
      return readRefusal(response.ok ? 500 : response.status, text, response.headers);
    const answer = stream === undefined ? read(text) : stream.end();
    return 'mistake' in answer
      ? unavailable(text === '' ? answer.mistake : `${answer.mistake}: ${shorten(text)}`)
      : { kind: 'answer', answer };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StreamStop) throw error;
    return unavailable(leash.complaint ?? causeOf(error));
  } finally {
    leash.end();
  }
}

const isEventStream = ({ ok, headers }: HttpAnswer): boolean =>
  ok && (headers.get('content-type') ?? '').startsWith('text/event-stream');

/**
 * Whether a body contains an error. A server that answers slowly sends its status first, so an error may follow a
 * status of 200.
 */
const hasError = (text: string): boolean => (parseJsonObject(text)?.['error'] ?? null) !== null;

/**
 * Reads the body. If there is a stream, the stream gets the text. If the connection breaks after an error has arrived,
 * the error is returned, because a server may send an error and then close the connection.
 */
async function readBody({ body }: HttpAnswer, leash: Leash, stream: AnswerStream<object> | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  try {
    for await (const bytes of body ?? []) {
      leash.renew();
      const part = decoder.decode(bytes, { stream: true });
      if (stream !== undefined) stream.push(part);
      else if ((size += bytes.length) > maxBodyBytes) throw new Error(`an answer of more than ${maxBodyBytes} bytes`);
      else text += part;
    }
  } catch (error) {
    if (!hasError(text)) throw error;
  }
  return text;
}

const unavailable = (message: string): Failed => ({ kind: 'unavailable', message, waitMs: null });

/** Returns the message of an error and of its cause, because fetch itself says only "fetch failed". */
function causeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined
    ? toErrorMessage(error)
    : `${toErrorMessage(error)}: ${codeOf(cause)}${toErrorMessage(cause)}`;
}

/**
 * Returns the code of the cause if its message does not contain the code. Some connection errors have a code and no
 * message.
 */
function codeOf(cause: unknown): string {
  const code = codeOfError(cause) ?? '';
  return code === '' || toErrorMessage(cause).includes(code) ? '' : `${code} `;
}
