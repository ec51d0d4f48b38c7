import { toErrorMessage } from '@agentjet/core';
import type { ClientHost } from './host.js';

/** What one request came to. `message` names the cause, without the key. */
export type Sent<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** The key is refused, or has no quota left. */
  | { readonly kind: 'bad_key'; readonly message: string }
  /** Too many requests for now. `waitMs`: what the server asked for. */
  | { readonly kind: 'busy'; readonly message: string; readonly waitMs: number | null }
  /** The same request may succeed later: the connection, the server, an answer that nobody can read. */
  | { readonly kind: 'unavailable'; readonly message: string }
  /** The request itself is wrong. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string };

export type Address = { readonly url: string; readonly key: string; readonly timeoutMs: number };

export type Request<Answer> = {
  readonly body: object;
  /** The answer that the body of a response is, or what is wrong with it. */
  readonly read: (text: string) => Answer | { readonly mistake: string };
};

/** A longer answer is not one of a model. */
const maxBodyBytes = 8 * 1024 * 1024;

/** Sends one request. Rejects only if the signal aborts. */
export async function sendRequest<Answer extends object>(
  { body, read }: Request<Answer>,
  address: Address,
  { host, signal }: { readonly host: ClientHost; readonly signal: AbortSignal },
): Promise<Sent<Answer>> {
  const timeout = AbortSignal.timeout(address.timeoutMs);
  try {
    const response = await host.fetch(address.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${address.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, timeout]),
      redirect: 'error',
    });
    const text = await readBody(response);
    if (!response.ok) return readRefusal(response, text);
    const answer = read(text);
    if (!('mistake' in answer)) return { kind: 'answer', answer };
    return { kind: 'unavailable', message: `${answer.mistake}: ${shorten(text)}` };
  } catch (error) {
    signal.throwIfAborted();
    const message = timeout.aborted ? `no answer in ${address.timeoutMs / 1000} s` : causeOf(error);
    return { kind: 'unavailable', message };
  }
}

async function readBody(response: Response): Promise<string> {
  if (response.body === null) return '';
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body) {
    size += part.length;
    if (size > maxBodyBytes) throw new Error(`an answer of more than ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Codes that providers give with 429, 403 or 400 for an account without money. */
const quota = /insufficient_quota|quota_exceeded|billing|insufficient balance|arrearage|credit/i;

function readRefusal({ status, headers }: Response, text: string): Sent<never> {
  const message = `HTTP ${status}: ${shorten(text)}`;
  if (status === 401 || status === 402 || status === 403) return { kind: 'bad_key', message };
  if (status === 429)
    return quota.test(text) ? { kind: 'bad_key', message } : { kind: 'busy', message, waitMs: readWait(headers) };
  if (status === 400 && quota.test(text)) return { kind: 'bad_key', message };
  if (status >= 500 || status === 408 || status === 409 || status === 425 || status < 400)
    return { kind: 'unavailable', message };
  return { kind: 'refused', status, message };
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; null without them. */
function readWait(headers: Headers): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const after = headers.get('retry-after');
  if (after === null) return null;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

function causeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined ? toErrorMessage(error) : `${toErrorMessage(error)}: ${toErrorMessage(cause)}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
