import { EnvironmentError, EnvironmentOutage, parseJsonObject, toErrorMessage } from '@agentjet/core';
import { readAnswerText } from './read-answer-text.js';
import { repairAddress } from './repair-address.js';

/** The address of an environment's server, with settings. */
export type ServerAddress = {
  /** http or https, without a slash at its end. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The configuration key of the address, for messages. */
  readonly addressKey?: string;
  /** Default: the process's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
};

/** An outage with its kind, for callers that may ask again. */
export class ServerOutage extends EnvironmentOutage {
  /**
   * `full`: there is no room for now. `absent`: no server listens at the address, so the request was not received and
   * no session exists. `lost`: it is unknown whether the request was received.
   */
  readonly kind: 'full' | 'absent' | 'lost';

  constructor(
    kind: ServerOutage['kind'],
    message: string,
    options: { readonly host: string; readonly cause?: unknown },
  ) {
    super(message, options);
    this.kind = kind;
  }
}

/** Statuses that mean that the request was wrong. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);
const busy: ReadonlySet<number> = new Set([429, 503]);
/**
 * Codes which mean that nothing listens at the address. Errors of a network that is down for a moment, such as
 * ENETUNREACH, are not in this list, because the server and its sessions still exist.
 */
const absent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND']);

/**
 * Sends a request once. Rejects with EnvironmentError `refused` if the server answers that the request is wrong, with the signal's reason
 * if it aborts, and with ServerOutage otherwise: no connection, a broken or unreadable answer, or any other status.
 */
export async function postJson(
  address: ServerAddress,
  path: string,
  { body, signal }: { readonly body: unknown; readonly signal: AbortSignal },
): Promise<unknown> {
  const host = hostOf(address);
  const send = address.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  let status: number;
  let text: string;
  try {
    const response = await send(`${address.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...address.headers },
      body: JSON.stringify(body),
      redirect: 'error',
      signal,
    });
    ({ status } = response);
    text = await readAnswerText(response);
  } catch (error) {
    signal.throwIfAborted();
    const kind = absent.has(codeOf(error)) ? 'absent' : 'lost';
    const repair = kind === 'absent' ? `. ${repairAddress(address.addressKey)}` : '';
    throw new ServerOutage(kind, `POST ${path} at ${host}: ${causeOf(error)}${repair}`, { host, cause: error });
  }
  if (status >= 200 && status < 300) return readJson(text, { path, host });
  const said = `POST ${path} at ${host} answered ${status}: ${detailOf(text)}`;
  if (refusals.has(status)) throw new EnvironmentError('refused', said);
  throw new ServerOutage(busy.has(status) ? 'full' : 'lost', said, { host });
}

export function hostOf({ url }: ServerAddress): string {
  return new URL(url).host;
}

function readJson(text: string, { path, host }: { readonly path: string; readonly host: string }): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `POST ${path} at ${host} answered with invalid JSON: ${shorten(text)}`;
    throw new ServerOutage('lost', message, { host, cause: error });
  }
}

/**
 * Returns the message of an error. FastAPI's errors are `{ detail }`. A traceback is shortened to its last line, which
 * names the error.
 */
function detailOf(text: string): string {
  const body = parseJsonObject(text);
  const detail = body?.['detail'] ?? body?.['error'] ?? body?.['message'] ?? text;
  const words = typeof detail === 'string' ? detail : JSON.stringify(detail);
  return shorten(words.startsWith('Traceback') ? (words.trim().split('\n').at(-1) ?? words) : words);
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 300)}...` : line;
}

function codeOf(error: unknown): unknown {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return code ?? (cause === undefined || cause === null ? undefined : codeOf(cause));
}

/** Returns the message of an error with its cause, because "fetch failed" alone explains nothing. */
function causeOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return cause === undefined ? toErrorMessage(error) : `${toErrorMessage(error)}: ${toErrorMessage(cause)}`;
}
