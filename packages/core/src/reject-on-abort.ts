/** Settles as `work` does, but rejects as soon as the signal aborts. If `toError` then returns undefined, it continues to wait for `work`. */
export async function rejectOnAbort<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  toError: () => unknown = () => signal?.reason,
): Promise<Result> {
  if (signal === undefined) return await work;
  let onAbort = (): void => undefined;
  const abort = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      const error = toError();
      if (error !== undefined) reject(error);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, abort]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
