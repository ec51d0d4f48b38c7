import { AgentJetError, toErrorMessage } from '@agentjet/core';

/** An error for HTTP clients, with a status and the name of the parameter that is wrong. */
export class ApiError extends AgentJetError {
  readonly status: number;
  readonly parameter: string | undefined;
  /** How long to wait before a retry. Undefined if a retry would not help or the time is not known. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, code: string, message: string, parameter?: string, retryAfterMs?: number) {
    super(code, message);
    this.status = status;
    this.parameter = parameter;
    this.retryAfterMs = retryAfterMs;
  }

  /**
   * The headers of the answer that reports the error. If the server is busy, they say after how many seconds to try
   * again.
   */
  get headers(): Readonly<Record<string, string>> {
    if (this.status !== 429 && this.status !== 503) return {};
    return { 'retry-after': String(Math.ceil((this.retryAfterMs ?? 1000) / 1000)) };
  }
}

const statusOfCode: Readonly<Record<string, readonly [number, string]>> = {
  context_overflow: [400, 'context_length_exceeded'],
  bad_request: [400, 'invalid_request'],
  aborted: [499, 'request_cancelled'],
  closed: [410, 'episode_ended'],
  too_many_calls: [400, 'too_many_calls'],
};

export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const [status, code] = (thrown instanceof AgentJetError ? statusOfCode[thrown.code] : undefined) ?? [
    500,
    'engine_error',
  ];
  return new ApiError(status, code, toErrorMessage(thrown));
}

/**
 * Creates the body of an error in OpenAI's form. The SDKs convert it to their own error types: BadRequestError,
 * NotFoundError, InternalServerError, APIError.
 */
export function toOpenAIErrorBody(error: ApiError): unknown {
  const type = error.status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: error.message, type, param: error.parameter ?? null, code: error.code } };
}
