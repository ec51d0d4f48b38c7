import { isJsonObject, parseJsonObject } from '@agentjet/core';
import { isTemporary, readWait } from '@agentjet/core/retries';

type About = {
  readonly message: string;
  /** The status, if there was an answer. */
  readonly status?: number;
  /** The server's own message. */
  readonly said?: string;
};

/** The outcome of a request that got no answer. Its `kind` alone decides whether the request is sent again. */
export type Failed = About &
  (
    | /** The key was refused or has no quota left. */ { readonly kind: 'bad_key' }
    /** There are too many requests for now. `waitMs` is the time that the server asked for. */
    | { readonly kind: 'busy'; readonly waitMs: number | null }
    /** The same request may succeed later: the connection or the server failed, or the answer could not be read. */
    | { readonly kind: 'unavailable'; readonly waitMs: number | null }
    /** The request itself is wrong. `code` is the code of the corresponding EngineError. */
    | { readonly kind: 'refused'; readonly code: string }
  );

/** Server codes that identify the failure by themselves, from OpenAI, our endpoint and the swarm's endpoint. */
const engineCodes: Readonly<Record<string, string>> = {
  context_length_exceeded: 'context_overflow',
  invalid_request: 'bad_request',
  request_cancelled: 'aborted',
  episode_ended: 'closed',
  gone: 'closed',
  target_not_trained: 'target_not_trained',
  engine_error: 'failed',
  too_many_calls: 'bad_request', // the episode reached its limit, and waiting does not help
  failed: 'failed',
};

/** Codes that providers send with 429, 403 or 400 for an account without credit. */
const quota = /insufficient_quota|quota_exceeded|billing|insufficient balance|arrearage|credit/i;

export function readRefusal(status: number, text: string, headers: Pick<Headers, 'get'>): Failed {
  const { code, said, retryAfterMs } = readError(text);
  const about = { status, said, message: `status ${status}: ${shorten(text)}` };
  const known = engineCodes[code];
  if (known !== undefined) return { ...about, kind: 'refused', code: known };
  const waitMs = retryAfterMs ?? readWait(headers);
  if (status === 401 || status === 402 || status === 403) return { ...about, kind: 'bad_key' };
  if (code === 'too_many_requests') return { ...about, kind: 'busy', waitMs }; // its message names a key
  if ((status === 429 || status === 400) && quota.test(text)) return { ...about, kind: 'bad_key' };
  if (status === 429) return { ...about, kind: 'busy', waitMs };
  if (isTemporary(status) || status < 400) return { ...about, kind: 'unavailable', waitMs };
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

/** Shortens the text to one readable line. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
