import { EngineError, isTimeoutReason } from '@agentjet/core';
import { SystemError, UserError } from '@openai/agents';

/**
 * Converts engine errors to the SDK's own types: UserError for a mistake in the agent's request, and SystemError for
 * any other failure.
 */
export function toAgentsError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  // If AbortSignal.timeout ends a call, a provider over HTTP throws a TimeoutError, and so does this model.
  if (thrown.code === 'aborted')
    return isTimeoutReason(thrown.cause) ? thrown.cause : new DOMException(thrown.message, 'AbortError');
  const isUsers = thrown.code === 'context_overflow' || thrown.code === 'bad_request';
  return Object.assign(isUsers ? new UserError(thrown.message) : new SystemError(thrown.message), { cause: thrown });
}
