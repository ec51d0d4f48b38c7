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
 * Closes all open backbones of this process's jobs. Call it before you end the process early: if a worker thread is cut
 * off inside native code, the whole process aborts.
 */
export async function closeBackbones(): Promise<void> {
  await Promise.allSettled([...open].map(async (opening) => (await opening).close()));
}
