import type { Backbone } from '@agentjet/core';

const open = new Set<Promise<Backbone>>();

/** Keeps the backbone among those that `closeBackbones` closes, until it is closed or fails to open. */
export function trackBackbone(opening: Promise<Backbone>): Promise<Backbone> {
  const tracked = opening.then((backbone) => {
    const close = backbone.close.bind(backbone);
    backbone.close = () => close().finally(() => open.delete(tracked));
    return backbone;
  });
  open.add(tracked);
  tracked.catch(() => open.delete(tracked));
  return tracked;
}

/**
 * Closes every backbone that a job of this process has open. Call it before ending the process early: native code of a
 * worker thread that is cut off in the middle aborts the whole process.
 */
export async function closeBackbones(): Promise<void> {
  await Promise.allSettled([...open].map(async (opening) => (await opening).close()));
}
