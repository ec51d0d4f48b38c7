import { AgentJetError, toErrorMessage } from '@agentjet/core';

/** An error that has a place on the wire: an HTTP status, and the parameter it names. */
export class WireError extends Error {
  readonly status: number;
  readonly code: string;
  readonly parameter: string | undefined;

  constructor(status: number, code: string, message: string, parameter?: string) {
    super(message);
    this.name = 'WireError';
    this.status = status;
    this.code = code;
    this.parameter = parameter;
  }
}

const statusOfCode: Readonly<Record<string, readonly [number, string]>> = {
  context_overflow: [400, 'context_length_exceeded'],
  bad_request: [400, 'invalid_request'],
  aborted: [499, 'request_cancelled'],
  closed: [410, 'episode_ended'],
};

export function toWireError(thrown: unknown): WireError {
  if (thrown instanceof WireError) return thrown;
  const [status, code] = (thrown instanceof AgentJetError ? statusOfCode[thrown.code] : undefined) ?? [500, 'engine_error'];
  return new WireError(status, code, toErrorMessage(thrown));
}

export function toOpenAIErrorBody(error: WireError): unknown {
  const type = error.status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: error.message, type, param: error.parameter ?? null, code: error.code } };
}

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  410: 'invalid_request_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
};

/** What Anthropic's API calls a request that cannot go on from a conversation on the server; its clients act upon it. */
export const threadsUnsupported = 'thread_unsupported_request';

export function toAnthropicErrorBody(error: WireError): unknown {
  const details = error.code === threadsUnsupported ? { details: { error_code: threadsUnsupported, unsupported: [error.parameter] } } : {};
  return { type: 'error', error: { type: anthropicTypes[error.status] ?? 'api_error', message: error.message, ...details } };
}
