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

/** Calls back after `ms`. The returned function cancels the call. */
type Timer = { readonly after: (ms: number, run: () => void) => () => void };

/** Resolves after this many milliseconds, or at once if the signal is aborted. */
export async function pause(timer: Timer, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = timer.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
