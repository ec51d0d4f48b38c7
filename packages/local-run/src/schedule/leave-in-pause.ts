import type { PlaceKeeper } from '../phases/place-keeper.js';

type Leaving = { readonly signal: AbortSignal; readonly close: () => void };

/**
 * A run finishes its step before it stops, but a step may never end if its episodes wait for the judge or for the end
 * of an outage. The signal aborts if the run is asked to stop while no episode may begin.
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
