import { threadCpuMs } from '../bench/loop/cpu-stalls.js';

/**
 * Measures the longest time that the event loop kept a timer waiting, in CPU time of its thread, so other work on the
 * machine does not change the result.
 */
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
