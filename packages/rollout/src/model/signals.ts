import { EngineError, toErrorMessage } from '@agentjet/core';

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

/** Throws EngineError `closed` if the episode has ended. */
export function checkOpen(episode: AbortSignal): void {
  if (!episode.aborted) return;
  const message = `This model is closed: ${toErrorMessage(episode.reason)}`;
  throw new EngineError('closed', message, { cause: episode.reason });
}
