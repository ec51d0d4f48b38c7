/** A turn of the event loop that takes longer than this is worth a notice. */
const stallMs = 1000;
const lookMs = 250;

/**
 * Tells once that the event loop stood still for more than a second: all episodes share it, and while one computes, sockets of the
 * others time out. What it returns ends the looking.
 */
export function noticeStalls(onNotice: (message: string) => void, maxEnvWorker: number): () => void {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const stall = now - last - lookMs;
    last = now;
    if (stall < stallMs) return;
    clearInterval(timer);
    onNotice(
      `The event loop stood still for ${(stall / 1000).toFixed(1)} s: an agent, a tool or a judge computes without awaiting, ` +
        `and meanwhile connections of all other episodes wait or break. Lower rollout.max_env_worker (${maxEnvWorker}), or move that work to a worker thread or a process.`,
    );
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
