/** Errors deeper than this are not looked at. */
const maxErrors = 30;

function innerErrors(error: object): readonly unknown[] {
  const { cause, errors, lastError } = error as { cause?: unknown; errors?: unknown; lastError?: unknown };
  return [cause, lastError, ...(Array.isArray(errors) ? (errors as readonly unknown[]) : [])];
}

/**
 * A thrown value and everything that it wraps, outermost first: frameworks keep what a call threw as `cause`, as `lastError` of a
 * retry, or in the `errors` of an AggregateError. Each error comes once, also if they wrap each other in a circle.
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
