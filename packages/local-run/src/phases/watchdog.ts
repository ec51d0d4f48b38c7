import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';

/** The same path works from sources and from builds, because both folders are next to `threads`. */
const watch = new URL('../../threads/watch.mjs', import.meta.url);

/**
 * Ends the process when its main thread has been blocked for longer than an episode may take. A workflow that loops
 * without awaiting blocks every timer and every signal handler, so only another thread can end the process. Time does
 * not count while a debugger is attached, or while the whole process is stopped.
 */
export function startWatchdog({
  limitMs,
  warnAfterMs = 20_000,
}: {
  readonly limitMs: number;
  readonly warnAfterMs?: number;
}): { stop(): void } {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const tickMs = Math.min(500, warnAfterMs / 4);
  const workerData = { shared, tickMs, limitMs: Math.max(limitMs, 1.5 * warnAfterMs), warnAfterMs };
  // Start the thread without the flags of the process, such as loaders, because it does not need them.
  const worker = new Worker(watch, { execArgv: [], workerData });
  worker.on('error', () => undefined); // a run continues without a watchdog
  worker.unref();
  const beat = (): void => {
    Atomics.add(shared, 0, 1);
    Atomics.store(shared, 1, inspector.url() === undefined ? 0 : 1);
  };
  const timer = setInterval(beat, tickMs);
  return {
    stop: () => {
      clearInterval(timer);
      void worker.terminate();
    },
  };
}
