import { isJsonObject, toErrorMessage } from '@agentjet/core';
import type { ClientHost } from './host.js';
import type { ModelAnswer, ModelQuestion } from './model-client.js';

/** What one request came to. `message` names the cause, without the key. */
export type Sent =
  | { readonly kind: 'answer'; readonly answer: ModelAnswer }
  /** The key is refused, or has no quota left. */
  | { readonly kind: 'bad_key'; readonly message: string }
  /** Too many requests for now. `waitMs`: what the server asked for. */
  | { readonly kind: 'busy'; readonly message: string; readonly waitMs: number | null }
  /** The same request may succeed later: the connection, the server, an answer that nobody can read. */
  | { readonly kind: 'unavailable'; readonly message: string }
  /** The request itself is wrong. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string };

export type Address = {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly timeoutMs: number;
};

/** A longer answer is not one of a chat model. */
const maxBodyBytes = 8 * 1024 * 1024;

/** Sends one chat completion. Rejects only if the signal aborts. */
export async function sendQuestion(
  question: ModelQuestion,
  address: Address,
  { host, signal }: { readonly host: ClientHost; readonly signal: AbortSignal },
): Promise<Sent> {
  const timeout = AbortSignal.timeout(address.timeoutMs);
  try {
    const response = await host.fetch(address.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${address.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(toBody(question, address.model)),
      signal: AbortSignal.any([signal, timeout]),
      redirect: 'error',
    });
    const text = await readBody(response);
    return response.ok ? readAnswer(text) : readRefusal(response, text);
  } catch (error) {
    signal.throwIfAborted();
    const message = timeout.aborted ? `no answer in ${address.timeoutMs / 1000} s` : causeOf(error);
    return { kind: 'unavailable', message };
  }
}

function toBody(question: ModelQuestion, model: string): object {
  const { messages, temperature, maxTokens, seed, schema } = question;
  return {
    model,
    messages,
    temperature,
    max_tokens: maxTokens,
    ...(seed !== undefined && { seed }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: schema.name, schema: schema.schema, strict: true } },
    }),
  };
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

function readAnswer(text: string): Sent {
  const body = parse(text);
  const choice: unknown = isJsonObject(body) && Array.isArray(body['choices']) ? body['choices'][0] : undefined;
  const message = isJsonObject(choice) ? choice['message'] : undefined;
  const content = isJsonObject(message) ? message['content'] : undefined;
  if (typeof content !== 'string')
    return { kind: 'unavailable', message: `an answer without choices[0].message.content: ${shorten(text)}` };
  const finishReason =
    isJsonObject(choice) && typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : '';
  return { kind: 'answer', answer: { text: content, finishReason, ...tokensOf(body) } };
}

function tokensOf(body: unknown): { readonly promptTokens: number; readonly completionTokens: number } {
  const usage = isJsonObject(body) && isJsonObject(body['usage']) ? body['usage'] : {};
  const count = (name: string): number => {
    const tokens = usage[name];
    return typeof tokens === 'number' && tokens >= 0 && Number.isFinite(tokens) ? tokens : 0;
  };
  return { promptTokens: count('prompt_tokens'), completionTokens: count('completion_tokens') };
}

/** Codes that providers give with 429, 403 or 400 for an account without money. */
const quota = /insufficient_quota|quota_exceeded|billing|insufficient balance|arrearage|credit/i;

function readRefusal({ status, headers }: Response, text: string): Sent {
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function causeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined ? toErrorMessage(error) : `${toErrorMessage(error)}: ${toErrorMessage(cause)}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
