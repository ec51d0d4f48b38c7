/**
 * Returns a signal that aborts as soon as one of the signals aborts. `release` removes its listeners, because the
 * signal of an episode exists longer than its calls.
 */
export function linkSignals(signals: readonly (AbortSignal | undefined)[]): {
  readonly controller: AbortController;
  release(): void;
} {
  const controller = new AbortController();
  const present = signals.filter((signal) => signal !== undefined);
  const onAbort = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of present) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener('abort', onAbort, { once: true });
  }
  const release = (): void => {
    for (const signal of present) signal.removeEventListener('abort', onAbort);
  };
  return { controller, release };
}
