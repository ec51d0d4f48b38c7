import type { Backbone } from '@agentjet/core';

const open = new Set<Promise<Backbone>>();

/** Makes `closeBackbones` close this backbone, unless it is closed before or fails to open. */
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
 * Closes all open backbones of this process's jobs. Call it before you end the process early: if a worker thread is
 * ended inside native code, the whole process aborts.
 */
export async function closeBackbones(): Promise<void> {
  await Promise.allSettled([...open].map(async (opening) => (await opening).close()));
}
