import { existsSync, readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import path from 'node:path';

/** The memory that this process may use, including what it uses now, and what sets the limit. */
export type AvailableMemory = { readonly bytes: number; readonly limitedBy: 'machine' | 'container' };

export type MemorySources = {
  /** The folder of `proc` and `sys`. Default: `/`. */
  readonly root?: string;
  readonly platform?: string;
  readonly freeBytes?: number;
  readonly totalBytes?: number;
  /** The bytes that this process uses now. */
  readonly ownBytes?: number;
};

/**
 * The share of a Mac's memory that counts as available. macOS reports too little free memory, because it does not count
 * memory that it could compress or swap.
 */
const shareOfMac = 0.8;

/**
 * Returns the available memory. On Linux, this is the machine's available memory, or less if a control group of this
 * process (cgroup 1 or 2) allows less.
 */
export function readAvailableMemory(sources: MemorySources = {}): AvailableMemory {
  const { root = '/', platform = process.platform, ownBytes = process.memoryUsage.rss() } = sources;
  const { freeBytes = freemem(), totalBytes = totalmem() } = sources;
  const free = platform === 'darwin' ? Math.max(freeBytes, shareOfMac * totalBytes - ownBytes) : freeBytes;
  const machine = (platform === 'linux' ? readMeminfo(root) : undefined) ?? free;
  const groups = platform === 'linux' ? [...readGroups2(root), ...readGroups1(root)] : [];
  const group = Math.min(Number.POSITIVE_INFINITY, ...groups);
  return group < machine
    ? { bytes: Math.max(0, group) + ownBytes, limitedBy: 'container' }
    : { bytes: machine + ownBytes, limitedBy: 'machine' };
}

/**
 * Returns the memory that programs may use without swapping: free memory, and memory of file caches that can be freed.
 */
function readMeminfo(root: string): number | undefined {
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readText(path.join(root, 'proc/meminfo')))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function readGroups2(root: string): readonly number[] {
  const own = /^0::(.*)$/m.exec(readText(path.join(root, 'proc/self/cgroup')))?.[1];
  return foldersUp(path.join(root, 'sys/fs/cgroup'), own).map((dir) => {
    const limit = readBytes(path.join(dir, 'memory.max'));
    const used = readBytes(path.join(dir, 'memory.current')) ?? 0;
    return limit === undefined ? Number.POSITIVE_INFINITY : limit - used + reclaimable(dir, 'inactive_file');
  });
}

function readGroups1(root: string): readonly number[] {
  const own = /^\d+:(?:\w+,)*memory(?:,\w+)*:(.*)$/m.exec(readText(path.join(root, 'proc/self/cgroup')))?.[1];
  return foldersUp(path.join(root, 'sys/fs/cgroup/memory'), own).map((dir) => {
    const limit = readBytes(path.join(dir, 'memory.limit_in_bytes'));
    const used = readBytes(path.join(dir, 'memory.usage_in_bytes')) ?? 0;
    return limit === undefined ? Number.POSITIVE_INFINITY : limit - used + reclaimable(dir, 'total_inactive_file');
  });
}

/**
 * Returns the folders of the group and of its parents, which also limit it. In a container the path may be that of the
 * host. Then only the top folder exists.
 */
function foldersUp(top: string, own: string | undefined): readonly string[] {
  const folders: string[] = [];
  for (let dir = path.join(top, own ?? ''); dir.length > top.length; dir = path.dirname(dir)) folders.push(dir);
  return [...folders, top].filter((dir) => existsSync(dir));
}

/**
 * Returns the memory of cached files that are not in use. A group is charged for this memory, but the kernel can free
 * it.
 */
function reclaimable(dir: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(readText(path.join(dir, 'memory.stat')))?.[1] ?? 0);
}

/** Reads a number of bytes. Returns undefined for `max`, and for a file that does not exist. */
function readBytes(file: string): number | undefined {
  const text = readText(file).trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // another system, another version of control groups, or no permission
  }
}
