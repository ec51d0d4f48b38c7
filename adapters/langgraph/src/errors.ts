import { EngineError } from '@agentjet/core';
import { ContextOverflowError, LangChainError, ModelAbortError } from '@langchain/core/errors';

/** Engine errors in LangChain's own types; what else comes through is nobody's to translate. */
export function toLangChainError(thrown: unknown): unknown {
  if (!(thrown instanceof EngineError)) return thrown;
  return Object.assign(createError(thrown), { cause: thrown });
}

function createError(error: EngineError): Error {
  switch (error.code) {
    case 'context_overflow':
      return new ContextOverflowError(error.message);
    case 'aborted':
    case 'closed':
      return new ModelAbortError(error.message);
    default:
      return new LangChainError(error.message);
  }
}
