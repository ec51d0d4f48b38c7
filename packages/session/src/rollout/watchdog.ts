import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';

/**
 * Ends the process when its main thread has been blocked for longer than an episode may take. A workflow that loops
 * without awaiting stops every timer and every signal handler with it, so only another thread can still act. Time does
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
  // Flags of the process, such as loaders and the kind of modules, are none of its business.
  const worker = new Worker(watch, { eval: true, execArgv: [], workerData });
  worker.on('error', () => undefined); // a run goes on without a watchdog
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

/** Written as text: a thread made from a file would have to find it in sources and in builds. It counts its own ticks. */
const watch = `
const { workerData: { shared, tickMs, limitMs, warnAfterMs } } = require('node:worker_threads');
const { writeSync } = require('node:fs');
let seen = -1, blockedMs = 0;
const say = (text) => { try { writeSync(2, text + '\\n'); } catch {} };
setInterval(() => {
  const beats = Atomics.load(shared, 0);
  const isBlocked = beats === seen && Atomics.load(shared, 1) === 0;
  seen = beats;
  const before = blockedMs;
  blockedMs = isBlocked ? blockedMs + tickMs : 0;
  const seconds = Math.round(blockedMs / 1000);
  if (before < warnAfterMs && blockedMs >= warnAfterMs) {
    say('A workflow has kept the process busy for ' + seconds + ' s without awaiting anything; everything else waits for it, Ctrl-C too.');
  }
  if (blockedMs < limitMs) return;
  say('error: A workflow has blocked the process for ' + seconds + ' s, longer than an episode may take (rollout.episode_timeout). It loops, or computes without ever awaiting, so that no time limit and no Ctrl-C gets its turn. Ended. Repair the workflow, then go on with --resume.');
  process.kill(process.pid, 'SIGKILL');
}, tickMs);
`;
