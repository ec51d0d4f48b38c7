import { isIP } from 'node:net';
import { isSameSecret } from '@agentjet/core/servers';

/** The parts of a request that decide whether it is answered. */
export type GuardedRequest = {
  readonly method: string;
  readonly url: string;
  readonly header: (name: string) => string | undefined;
};

export type RequestRules = {
  readonly token: string;
  /** Name of the cookie that holds the token. */
  readonly cookie: string;
  /** Names of hosts in addition to those of this machine itself. */
  readonly hosts: readonly string[];
  /** True if the studio listens on all addresses of this machine. DNS rebinding needs a name, so an address is safe. */
  readonly allowsAddresses?: boolean;
};

export type RefusedRequest = {
  readonly status: 401 | 403 | 405 | 413 | 414 | 415 | 421;
  readonly reason: string;
};

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];
const maxUrl = 8192;

/** The maximum bytes of a body, for the two routes that take one. They change an open page's view, and ask a model. */
const bodyLimits: Readonly<Record<string, number>> = { '/api/view': 16_384, '/api/chat': 1_048_576 };

/**
 * Decides whether a request is answered. It must name this machine, so that a foreign name which resolves to this machine
 * (DNS rebinding) gets nothing; it must not come from another page; and it must bring the token.
 */
export function findRefusal(request: GuardedRequest, options: RequestRules): RefusedRequest | undefined {
  const { method, url, header } = request;
  const limit = method === 'POST' ? bodyLimits[pathOf(url)] : undefined;
  if (method !== 'GET' && method !== 'HEAD' && limit === undefined)
    return { status: 405, reason: 'The studio only reads: use GET.' };
  if (url.length > maxUrl) return { status: 414, reason: `The address is longer than ${maxUrl} characters.` };
  const refusedBody = limit === undefined ? refuseBody(header) : checkBody(header, limit);
  if (refusedBody !== undefined) return refusedBody;
  if (!isKnownHost(header('host'), options))
    return { status: 421, reason: 'This address does not belong to the studio.' };
  if (!isOwnPage(request)) return { status: 403, reason: 'Another page may not read the studio.' };
  if (!hasToken(request, options))
    return { status: 401, reason: 'Open the address that `ajet studio` printed. It contains the token.' };
  return undefined;
}

const pathOf = (url: string): string => new URL(url, 'http://x').pathname;

type Header = GuardedRequest['header'];

function refuseBody(header: Header): RefusedRequest | undefined {
  const hasBody = header('transfer-encoding') !== undefined || Number(header('content-length') ?? 0) !== 0;
  return hasBody ? { status: 413, reason: 'A GET request has no body.' } : undefined;
}

/** Accepts only JSON, which a form of another page cannot send, and only a body of a known length. */
function checkBody(header: Header, limit: number): RefusedRequest | undefined {
  const length = Number(header('content-length') ?? NaN);
  if (header('transfer-encoding') !== undefined || !(length > 0 && length <= limit))
    return { status: 413, reason: `The body must have 1 to ${limit} bytes, and a Content-Length.` };
  const type = header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return { status: 415, reason: 'The body must be application/json.' };
  return undefined;
}

/** Any port: the studio may be reached through a tunnel. */
function isKnownHost(host: string | undefined, { hosts, allowsAddresses = false }: RequestRules): boolean {
  const name = host?.replace(/:\d{1,5}$/, '').toLowerCase();
  if (name === undefined) return false;
  if (allowsAddresses && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true;
  return [...loopbackNames, ...hosts].includes(name);
}

/** Browsers say from which page a request comes. Only the first visit, which brings the token, may come from a link elsewhere. */
function isOwnPage({ method, url, header }: GuardedRequest): boolean {
  const origin = header('origin');
  // A browser sends the origin with each POST. A local tool sends the token in a header instead of a cookie.
  if (method === 'POST' && origin === undefined && bearerOf(header) === null) return false;
  if (origin !== undefined && origin !== `http://${header('host')}`) return false;
  const site = header('sec-fetch-site');
  const isVisit =
    header('sec-fetch-mode') === 'navigate' && !/^\/(api|assets)\b/.test(new URL(url, 'http://x').pathname);
  return site === undefined || site === 'same-origin' || site === 'none' || isVisit;
}

function hasToken({ url, header }: GuardedRequest, { token, cookie }: RequestRules): boolean {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const given = pathname === '/' ? searchParams.get('token') : null;
  return (
    isSame(given, token) ||
    isSame(bearerOf(header), token) ||
    readCookies(header('cookie') ?? '', cookie).some((value) => isSame(value, token))
  );
}

const bearerOf = (header: Header): string | null => /^Bearer (\S+)$/i.exec(header('authorization') ?? '')?.[1] ?? null;

/** Whether the request is the first visit, which gets the cookie. */
export function isFirstVisit({ url }: Pick<GuardedRequest, 'url'>, token: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://x');
  return pathname === '/' && isSame(searchParams.get('token'), token);
}

function readCookies(text: string, name: string): readonly string[] {
  return text.split(';').flatMap((each) => {
    const [key, ...value] = each.split('=');
    return key?.trim() === name ? [value.join('=').trim()] : [];
  });
}

const isSame = (given: string | null, token: string): boolean => given !== null && isSameSecret(given, token);
