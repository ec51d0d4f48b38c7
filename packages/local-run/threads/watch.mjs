// This thread ends the process when the main thread is blocked. It counts the ticks of a timer instead of reading the
// clock, so a process that was suspended for a while is not ended. It is not compiled: sources and builds start the
// same file. See src/phases/watchdog.ts.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const { shared, tickMs, limitMs, warnAfterMs } = workerData;
let seen = -1;
let blockedMs = 0;

const say = (text) => {
  try {
    writeSync(2, `${text}\n`);
  } catch {
    // no other process reads the output
  }
};

setInterval(() => {
  const beats = Atomics.load(shared, 0);
  const isBlocked = beats === seen && Atomics.load(shared, 1) === 0;
  seen = beats;
  const before = blockedMs;
  blockedMs = isBlocked ? blockedMs + tickMs : 0;
  const seconds = Math.round(blockedMs / 1000);
  if (before < warnAfterMs && blockedMs >= warnAfterMs) {
    say(
      `A workflow has kept the process busy for ${seconds} s without awaiting anything. Nothing else can run in the meantime, not even Ctrl-C.`,
    );
  }
  if (blockedMs < limitMs) return;
  say(
    `error: A workflow has blocked the process for ${seconds} s, which is longer than rollout.episode_timeout, so the process was ended. The workflow computes without awaiting anything, or loops forever. No time limit and no Ctrl-C can stop such code. Correct the workflow, then continue with --resume.`,
  );
  process.kill(process.pid, 'SIGKILL');
}, tickMs);
