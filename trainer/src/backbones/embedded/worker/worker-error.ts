/** Sends errors across threads. A structured clone would lose class and code. */

import { BackboneError, EngineError, toErrorMessage } from '@agentjet/core';
import type { WorkerError } from './protocol.js';

export function toWorkerError(thrown: unknown): WorkerError {
  if (!(thrown instanceof Error))
    return { name: 'BackboneError', code: 'failed', message: toErrorMessage(thrown), stack: '' };
  const { name, message, stack = '' } = thrown;
  return {
    name,
    message,
    stack,
    code: thrown instanceof EngineError || thrown instanceof BackboneError ? thrown.code : 'failed',
  };
}

/** Rebuilds an error from a message. An error of any other class becomes a BackboneError `failed`. */
export function fromWireError({ name, code, message, stack }: WorkerError): EngineError | BackboneError {
  const error = name === 'EngineError' ? new EngineError(code, message) : new BackboneError(code, message);
  if (stack !== '') error.stack = stack;
  return error;
}
