import { readFileSync } from 'node:fs';

/**
 * Returns the CPU time of the main thread in ms, as the kernel counts it (Linux). Without that count it returns the CPU
 * time of the whole process.
 */
export function threadCpuMs(): number {
  try {
    const [ran = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ran) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

const lookMs = 10;

/**
 * Measures how long the event loop kept a timer waiting, in CPU time of its thread. On a busy machine, wall time would
 * include the work of other programs. Call the returned function to stop. It returns the waits in ms.
 */
export function measureStalls(): () => readonly number[] {
  const stalls: number[] = [];
  let last = threadCpuMs();
  const timer = setInterval(() => {
    const now = threadCpuMs();
    stalls.push(now - last);
    last = now;
  }, lookMs);
  return () => {
    clearInterval(timer);
    return stalls;
  };
}

/** Returns the value below which `share` of the values are; 0 if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
