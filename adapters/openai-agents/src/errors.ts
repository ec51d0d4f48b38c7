import { EngineError } from '@agentjet/core';
import { SystemError, UserError } from '@openai/agents';

/** Engine errors in the SDK's own types: what the agent asked wrongly, and what went wrong beneath it. */
export function toAgentsError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  if (thrown.code === 'aborted')
    return isTimeout(thrown.cause) ? thrown.cause : new DOMException(thrown.message, 'AbortError');
  const isUsers = thrown.code === 'context_overflow' || thrown.code === 'bad_request';
  return Object.assign(isUsers ? new UserError(thrown.message) : new SystemError(thrown.message), { cause: thrown });
}

/** A call that AbortSignal.timeout ended is a TimeoutError with every provider over HTTP. */
function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === 'TimeoutError';
}
