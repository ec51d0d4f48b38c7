/** What `promise` becomes, or a rejection as soon as the signal aborts; not if `toError` then gives none. */
export async function rejectOnAbort<Result>(promise: Promise<Result>, signal: AbortSignal | undefined, toError: () => Error | undefined): Promise<Result> {
  if (signal === undefined) return await promise;
  let onAbort = (): void => undefined;
  const abort = new Promise<never>((_, reject) => {
    onAbort = () => {
      const error = toError();
      if (error !== undefined) reject(error);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([abort, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
