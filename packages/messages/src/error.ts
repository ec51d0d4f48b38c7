import type { ApiError } from '@agentjet/chat-completions';

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  410: 'invalid_request_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
};

/**
 * The code that Anthropic's API has for a server that keeps no conversations. After this error, Anthropic's clients
 * send the whole conversation with each request.
 */
export const threadsUnsupported = 'thread_unsupported_request';

export function toAnthropicErrorBody(error: ApiError): unknown {
  const details =
    error.code === threadsUnsupported
      ? { details: { error_code: threadsUnsupported, unsupported: [error.parameter] } }
      : {};
  return { type: 'error', error: { type: types[error.status] ?? 'api_error', message: error.message, ...details } };
}
