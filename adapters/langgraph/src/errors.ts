import { EngineError, isTimeoutReason } from '@agentjet/core';
import { ContextOverflowError, LangChainError, ModelAbortError } from '@langchain/core/errors';

/** Converts engine errors to LangChain's own types. Other errors pass through unchanged. */
export function toLangChainError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  return Object.assign(createError(thrown), { cause: thrown });
}

/** Creates an error with the name that LangChain's other models use if their option `timeout` expires. */
function createTimeoutError(message: string): Error {
  return Object.assign(new LangChainError(message), { name: 'TimeoutError' });
}

function createError(error: EngineError): Error {
  switch (error.code) {
    case 'context_overflow':
      return new ContextOverflowError(error.message);
    case 'aborted':
      return isTimeoutReason(error.cause) ? createTimeoutError(error.message) : new ModelAbortError(error.message);
    case 'closed':
      return new ModelAbortError(error.message);
    default:
      return new LangChainError(error.message);
  }
}
