import { EngineError } from '@agentjet/core';
import { SystemError, UserError } from '@openai/agents';

/** Engine errors in the SDK's own types: what the agent asked wrongly, and what went wrong beneath it. */
export function toAgentsError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  if (thrown.code === 'aborted') return new DOMException(thrown.message, 'AbortError');
  const isUsers = thrown.code === 'context_overflow' || thrown.code === 'bad_request';
  return Object.assign(isUsers ? new UserError(thrown.message) : new SystemError(thrown.message), { cause: thrown });
}
