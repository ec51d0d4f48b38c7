import { toErrorMessage } from '@agentjet/core';

/** The properties that our code reads from a thrown value to find out what failed, with which code, and why. */
const properties = ['name', 'message', 'stack', 'code', 'status', 'statusCode', 'hostname', 'host', 'address', 'port'];

/**
 * Returns a version of a thrown value that is safe to inspect. User code may throw anything: a revoked proxy, or an
 * error whose cause is a getter that throws. Inspecting such a value would end the whole run, so the value is replaced
 * by an error with the details that could be read.
 */
export function toReadable(thrown: unknown): unknown {
  try {
    for (const error of errorChain(thrown)) look(error);
    return typeof thrown === 'object' && thrown !== null ? thrown : String(thrown);
  } catch {
    return new Error(toErrorMessage(thrown));
  }
}

/** Throws if inspecting the error throws. */
function look(error: object): void {
  for (const name of properties) void Reflect.get(error, name);
  if (!(error instanceof Error)) return;
  if (typeof error.message !== 'string' || !['string', 'undefined'].includes(typeof error.stack))
    throw new TypeError('The message and the stack of an error are strings.');
}

/** Errors that are nested deeper than this are ignored. */
const maxErrors = 30;

function innerErrors(error: object): readonly unknown[] {
  const { cause, errors, lastError } = error as { cause?: unknown; errors?: unknown; lastError?: unknown };
  return [cause, lastError, ...(Array.isArray(errors) ? (errors as readonly unknown[]) : [])];
}

/**
 * Lists a thrown value and everything that it wraps, outermost first. Frameworks keep the original error as `cause`, as
 * `lastError` of a retry, or in the `errors` of an AggregateError. Each error comes once, even if they wrap each other
 * in a circle.
 */
export function errorChain(thrown: unknown): readonly object[] {
  const chain: object[] = [];
  const waiting = [thrown];
  while (waiting.length > 0 && chain.length < maxErrors) {
    const error = waiting.shift();
    if (typeof error !== 'object' || error === null || chain.includes(error)) continue;
    chain.push(error);
    waiting.push(...innerErrors(error));
  }
  return chain;
}
