import { readdirSync, readFileSync, statfsSync } from 'node:fs';

/**
 * A measurement, from outside, of a process and its descendants. The benchmark does not use the sandbox's own code for
 * this, so that a mistake in that code is found.
 */
export type Sample = { readonly at: number; readonly bytes: number; readonly tasks: number };

/** The folders in memory that a program in bubblewrap can write, and those that it should not be able to write. */
const foldersInMemory = ['/work', '/tmp', '/dev/shm', '/dev', '/'];
const bytesOfInode = 1024;

/** Returns the pids of all descendants of `pid`, without the ignored ones. */
export function processesBelow(pid: number, ignored: ReadonlySet<number> = new Set()): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    const stat = read(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]));
  }
  const isBelow = (each: number | undefined): boolean =>
    each !== undefined && each > 1 && (parents.get(each) === pid || isBelow(parents.get(each)));
  return [...parents.keys()].filter((each) => isBelow(each) && !ignored.has(each));
}

/** Samples the descendants of `pid`: their proportional set sizes and the files in their folders in memory. */
export function sampleBelow(pid: number, ignored: ReadonlySet<number>): Sample {
  const pids = processesBelow(pid, ignored);
  const memory = pids.map((each) => 1024 * numberIn(read(`/proc/${each}/smaps_rollup`), 'Pss'));
  const tasks = pids.map((each) => numberIn(read(`/proc/${each}/status`), 'Threads'));
  return { at: performance.now(), bytes: sum(memory) + filesOf(pids), tasks: sum(tasks) };
}

/** Samples the memory of the process `pid`. JavaScript runs in this process itself. */
export function sampleOf(pid: number): Sample {
  return { at: performance.now(), bytes: 1024 * numberIn(read(`/proc/${pid}/status`), 'VmRSS'), tasks: 0 };
}

function filesOf(pids: readonly number[]): number {
  const counted = new Set(foldersOf('self').map(({ device }) => device));
  let bytes = 0;
  for (const pid of pids) {
    for (const { device, folder } of foldersOf(pid)) {
      if (!counted.has(device)) bytes += usedIn(`/proc/${pid}/root${folder}`);
      counted.add(device);
    }
  }
  return bytes;
}

function foldersOf(pid: number | 'self'): readonly { readonly device: string; readonly folder: string }[] {
  return read(`/proc/${pid}/mountinfo`)
    .split('\n')
    .filter((line) => line.includes(' - tmpfs '))
    .map((line) => ({ device: line.split(' ')[2] ?? '', folder: line.split(' ')[4] ?? '' }))
    .filter(({ folder }) => foldersInMemory.includes(folder));
}

function usedIn(folder: string): number {
  try {
    const { bsize, blocks, bfree, files, ffree } = statfsSync(folder);
    return bsize * (blocks - bfree) + bytesOfInode * (files - ffree);
  } catch {
    return 0; // the process has ended
  }
}

function numberIn(text: string, key: string): number {
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
