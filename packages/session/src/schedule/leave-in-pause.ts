import type { PlaceKeeper } from '../rollout/place-keeper.js';

type Leaving = { readonly signal: AbortSignal; readonly close: () => void };

/**
 * A run that is told to stop finishes its step first, but a step whose episodes wait for the judge, or for the world, may take for
 * ever. The signal aborts once both are so: the run is to stop, and nothing may begin.
 */
export function leaveInPause(
  stop: AbortSignal | undefined,
  keeper: Pick<PlaceKeeper, 'isHeld' | 'onHeld'>,
  onLeave: () => void,
): Leaving {
  const left = new AbortController();
  const look = (): void => {
    if (stop?.aborted !== true || left.signal.aborted || !keeper.isHeld()) return;
    onLeave();
    left.abort(stop.reason);
  };
  stop?.addEventListener('abort', look, { once: true });
  const unsubscribe = keeper.onHeld(look);
  look();
  const close = (): void => {
    stop?.removeEventListener('abort', look);
    unsubscribe();
  };
  return { signal: left.signal, close };
}
