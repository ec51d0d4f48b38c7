/**
 * Codes of Node and undici for a connection that could not be made or that broke: refused, reset, not found, timed out,
 * TLS.
 */
const codes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const prefixes = /^(ERR_TLS_|ERR_SSL_|CERT_)/;

/** True for an error of the connection itself. An HTTP status is an answer and not a failed connection. */
export function isConnectionFailure(error: object): boolean {
  const { code } = error as { code?: unknown };
  return codes.has(code) || (typeof code === 'string' && prefixes.test(code));
}

/** The unreachable host, as `name` or `address:port`. Undefined if the error does not name it. */
export function failedHostOf(error: object): string | undefined {
  const { hostname, host, address, port } = error as Readonly<Record<string, unknown>>;
  const name = [hostname, host, address].find((value) => typeof value === 'string' && value !== '');
  if (typeof name !== 'string') return undefined;
  return typeof port === 'number' ? `${name}:${port}` : name;
}
