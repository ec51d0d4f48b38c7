import { readFileSync } from 'node:fs';

/** CPU time of the main thread, ms: by the kernel's count if there is one (Linux), else of the whole process. */
function threadCpuMs(): number {
  try {
    const [ran = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ran) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

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
