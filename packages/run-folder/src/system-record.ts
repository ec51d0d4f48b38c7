import { statfs } from 'node:fs/promises';
import { readPeakMemory } from './peak-memory.js';

/** What the process used when a step was recorded. GPU workers are other processes and are not counted. */
export type SystemRecord = {
  readonly time: string;
  readonly step: number;
  /** The resident memory now. `peak_rss_mb` is the maximum since the process began. */
  readonly rss_mb: number;
  readonly peak_rss_mb: number;
  /** The CPU seconds of all threads since the process began. */
  readonly cpu_seconds: number;
  /** Absent if the file system does not say. */
  readonly disk_free_mb?: number;
};

export async function readSystem(dir: string, step: number, time: Date): Promise<SystemRecord> {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const disk = await statfs(dir).catch(() => undefined);
  return {
    time: time.toISOString(),
    step,
    rss_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
    peak_rss_mb: Math.round(readPeakMemory() / 2 ** 20),
    cpu_seconds: Math.round((userCPUTime + systemCPUTime) / 1e4) / 100,
    ...(disk !== undefined && { disk_free_mb: Math.round((disk.bavail * disk.bsize) / 2 ** 20) }),
  };
}
