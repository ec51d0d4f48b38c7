import { toErrorMessage } from '@agentjet/core';
import { errorChain } from './error-chain.js';

/** What a thrown value is looked at for: who failed, with which code, and why. */
const properties = ['name', 'message', 'stack', 'code', 'status', 'statusCode', 'hostname', 'host', 'address', 'port'];

/**
 * A thrown value that can be looked at. Code of a user may throw anything: a revoked proxy, an error whose cause is a getter that
 * throws. Such a value is replaced by an error that says what it can; looking at the value itself would end the whole run.
 */
export function toReadable(thrown: unknown): unknown {
  try {
    for (const error of errorChain(thrown)) look(error);
    return typeof thrown === 'object' && thrown !== null ? thrown : String(thrown);
  } catch {
    return new Error(toErrorMessage(thrown));
  }
}

/** Throws if looking at the error would. */
function look(error: object): void {
  for (const name of properties) void Reflect.get(error, name);
  if (!(error instanceof Error)) return;
  if (typeof error.message !== 'string' || !['string', 'undefined'].includes(typeof error.stack))
    throw new TypeError('The message and the stack of an error are strings.');
}
