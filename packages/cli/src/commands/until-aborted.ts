/** Resolves once the signal aborts. Until then it keeps the process alive, because idle sockets of a server do not. */
export function untilAborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const beat = setInterval(() => undefined, 60_000);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(beat);
        resolve(undefined);
      },
      { once: true },
    );
  });
}
