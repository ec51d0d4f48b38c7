/**
 * Aborts as soon as one of the signals does. `release` removes the listeners, because an episode's signal outlives its
 * calls.
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
