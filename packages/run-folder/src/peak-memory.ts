import { readFileSync } from 'node:fs';

/**
 * Returns the largest resident memory that this process ever had, in bytes. On Linux, getrusage of a child includes the
 * memory that its parent had when the child was started, so the kernel's figure of this process is read instead.
 */
export function readPeakMemory(): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // Another system than Linux has no such file.
  }
  return process.resourceUsage().maxRSS * 1024;
}
