import { threadCpuMs } from '../bench/loop/cpu-stalls.js';

/** The longest time that the event loop was kept from a timer, in CPU time of its thread: a busy machine does not count. */
export function watchStalls(): { readonly longestMs: () => number } {
  let longest = 0;
  let last = threadCpuMs();
  const timer = setInterval(() => {
    const now = threadCpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 10);
  timer.unref();
  return { longestMs: () => longest };
}
