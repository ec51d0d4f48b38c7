import { EngineError } from '@agentjet/core';

export function aborted(signal: AbortSignal | undefined): EngineError {
  return new EngineError('aborted', 'The call was aborted.', { cause: signal?.reason });
}

export function closed(): EngineError {
  return new EngineError('closed', 'The engine is closed.');
}
