import { isJsonObject, parseJsonObject } from '@agentjet/core';

type About = {
  readonly message: string;
  /** The status, if there was an answer. */
  readonly status?: number;
  /** The server's own words. */
  readonly said?: string;
};

/** What a request without an answer came to: the one rule of what is sent again. */
export type Failed = About &
  (
    | /** The key is refused, or has no quota left. */ { readonly kind: 'bad_key' }
    /** Too many requests for now. `waitMs`: what the server asked for. */
    | { readonly kind: 'busy'; readonly waitMs: number | null }
    /** The same request may succeed later: the connection, the server, an answer that nobody can read. */
    | { readonly kind: 'unavailable'; readonly waitMs: number | null }
    /** The request itself is wrong. `code`: of the EngineError that it is for a model. */
    | { readonly kind: 'refused'; readonly code: string }
  );

/** Codes of a server that say by themselves what the call is: those of OpenAI, of our endpoint and of the swarm's. */
const engineCodes: Readonly<Record<string, string>> = {
  context_length_exceeded: 'context_overflow',
  invalid_request: 'bad_request',
  request_cancelled: 'aborted',
  episode_ended: 'closed',
  gone: 'closed',
  target_not_trained: 'target_not_trained',
  engine_error: 'failed',
  failed: 'failed',
};

/** Codes that providers give with 429, 403 or 400 for an account without money. */
const quota = /insufficient_quota|quota_exceeded|billing|insufficient balance|arrearage|credit/i;

export function readRefusal(status: number, text: string, headers: Headers): Failed {
  const { code, said, retryAfterMs } = readError(text);
  const about = { status, said, message: `status ${status}: ${shorten(text)}` };
  const known = engineCodes[code];
  if (known !== undefined) return { ...about, kind: 'refused', code: known };
  const waitMs = retryAfterMs ?? readWait(headers);
  if (status === 401 || status === 402 || status === 403) return { ...about, kind: 'bad_key' };
  if ((status === 429 || status === 400) && quota.test(text)) return { ...about, kind: 'bad_key' };
  if (status === 429) return { ...about, kind: 'busy', waitMs };
  if (status >= 500 || status === 408 || status === 409 || status === 425 || status < 400)
    return { ...about, kind: 'unavailable', waitMs };
  return { ...about, kind: 'refused', code: codeOfStatus[status] ?? 'failed' };
}

const codeOfStatus: Readonly<Record<number, string>> = {
  400: 'bad_request',
  410: 'closed',
  413: 'bad_request',
  422: 'bad_request',
};

function readError(text: string) {
  const error = parseJsonObject(text)?.['error'];
  const { code, message, retry_after_ms: retryAfterMs } = isJsonObject(error) ? error : {};
  return {
    code: typeof code === 'string' ? code : '',
    said: typeof message === 'string' ? message : shorten(text),
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  };
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

/** On one line, and not longer than a reader wants. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
