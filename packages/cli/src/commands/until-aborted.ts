/** Resolves once the signal aborts. It keeps the process alive, which a server with idle sockets does not. */
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
