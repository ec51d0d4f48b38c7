import { EngineError, isTimeoutReason } from '@agentjet/core';
import { APICallError } from '@ai-sdk/provider';

const statusOf: Readonly<Record<string, number>> = { context_overflow: 400, bad_request: 400, closed: 410 };

/**
 * Converts engine errors to the SDK's own type. None of them may be retried, because a repeated call would be a second
 * sample.
 */
export function toAiSdkError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  // If AbortSignal.timeout ends a call, a provider over HTTP throws a TimeoutError, and so does this model.
  if (thrown.code === 'aborted')
    return isTimeoutReason(thrown.cause) ? thrown.cause : new DOMException(thrown.message, 'AbortError');
  return new APICallError({
    message: thrown.message,
    url: 'agentjet:in-process',
    requestBodyValues: {},
    statusCode: statusOf[thrown.code] ?? 500,
    isRetryable: false,
    cause: thrown,
    data: { code: thrown.code },
  });
}
