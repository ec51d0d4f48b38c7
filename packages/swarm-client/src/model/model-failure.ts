import { EngineError, isJsonObject } from '@agentjet/core';

/** The server was not reached, or asks to come again: the same call is sent once more, with the same id. */
export class ServerAway extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServerAway';
    this.retryAfterMs = options.retryAfterMs;
  }
}

const engineCodes: Readonly<Record<string, string>> = {
  context_length_exceeded: 'context_overflow',
  request_cancelled: 'aborted',
  episode_ended: 'closed',
  gone: 'closed',
  target_not_trained: 'target_not_trained',
  engine_error: 'failed',
};
const busy: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504, 507]);

/**
 * What an error of the server means for the call: the same EngineError that a model in the same process throws, so that
 * failures and outages are told apart by one rule. ServerAway for an error that passes.
 */
export function toModelFailure(status: number, body: unknown, retryAfterSeconds?: string | null): Error {
  const { code, message, retryAfterMs } = readError(body);
  const text = message ?? `The server answered with status ${status}: ${excerpt(body)}`;
  const askedMs = retryAfterMs ?? toMilliseconds(retryAfterSeconds);
  const known = code === undefined ? undefined : engineCodes[code];
  if (known !== undefined) return new EngineError(known, text);
  if (busy.has(status)) return new ServerAway(text, { retryAfterMs: askedMs });
  if (status === 410) return new EngineError('closed', text);
  if (status === 400 || status === 413 || status === 422 || code === 'invalid_request')
    return new EngineError('bad_request', text);
  return new EngineError('failed', text);
}

type SeenError = {
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly retryAfterMs: number | undefined;
};

/** Model calls have errors in OpenAI's form, the other routes in the swarm's; both have these fields. */
function readError(body: unknown): SeenError {
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {};
  const { code, message, retry_after_ms: retryAfterMs } = error;
  return {
    code: typeof code === 'string' ? code : undefined,
    message: typeof message === 'string' ? message : undefined,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  };
}

function toMilliseconds(seconds: string | null | undefined): number | undefined {
  return seconds === null || seconds === undefined || !/^\d+$/.test(seconds) ? undefined : Number(seconds) * 1000;
}

const excerpt = (body: unknown): string =>
  (typeof body === 'string' ? body : (JSON.stringify(body) ?? '')).slice(0, 300);
