import type { DrawState } from './state.js';

const known = new Map<string, DrawState>();

/**
 * Returns the same object for equal draws. This saves memory, because a long run remembers every draw and nearly all of
 * them are over.
 */
export function drawState({ tryIndex, expiries, fate }: DrawState): DrawState {
  const name = `${tryIndex} ${expiries} ${fate}`;
  const found = known.get(name) ?? Object.freeze({ tryIndex, expiries, fate });
  if (known.size < mostKnown) known.set(name, found);
  return found;
}

const mostKnown = 1000;
