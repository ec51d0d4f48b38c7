import { readdirSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { toErrorMessage, isDiskFull } from '@agentjet/core';
import type { RunDisk } from '../swarm/swarm-options.js';

/**
 * Finds out whether training failed because the disk of the run folder is full, and whether the disk has room again. It
 * has room if the largest checkpoint so far fits, and some more space for ordinary files is free.
 */
export function watchRunDisk(runDir: string, { readDisk = statfsSync }: RunDiskParts = {}): RunDisk {
  return {
    problemOf: (error) => {
      const { bavail, bsize } = readDisk(runDir);
      if (!isFull(error) && bavail * bsize >= nextToNothing) return undefined;
      return `The disk of the run folder ${runDir} is full, so training waits. Ends are accepted. Free disk space; training then continues by itself. (${toErrorMessage(error)})`;
    },
    hasRoom: () => {
      const { bavail, bsize, blocks } = readDisk(runDir);
      const least = Math.min(leastRoom, (blocks * bsize) / 10);
      return bavail * bsize >= least + 1.25 * largestCheckpoint(runDir);
    },
  };
}

type RunDiskParts = { readonly readDisk?: (dir: string) => { bavail: number; bsize: number; blocks: number } };

function isFull(error: unknown): boolean {
  if (/ENOSPC|EDQUOT|No space left/i.test(toErrorMessage(error))) return true;
  if (!(error instanceof Error)) return false;
  return isDiskFull(error) || (error.cause !== undefined && isFull(error.cause));
}

/** Returns the bytes of the largest checkpoint in the folder of a run or of its policies. */
function largestCheckpoint(runDir: string): number {
  const names = readdirSync(runDir, { recursive: true }).map(String);
  const sizes = new Map<string, number>();
  for (const name of names) {
    const folder = /^.*checkpoints[\\/][^\\/]+(?=[\\/])/.exec(name)?.[0];
    const stats = folder === undefined ? undefined : statSync(path.join(runDir, name), { throwIfNoEntry: false });
    if (folder !== undefined && stats?.isFile()) sizes.set(folder, (sizes.get(folder) ?? 0) + stats.size);
  }
  return Math.max(0, ...sizes.values());
}

/** A disk with fewer free bytes counts as full, however the failed write was reported. */
const nextToNothing = 2 ** 20;
const leastRoom = 64 * 2 ** 20;
