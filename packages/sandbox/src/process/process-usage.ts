import { existsSync, readFileSync, readdirSync, statfsSync } from 'node:fs';

/** The resources that a process and its descendants use together. Linux only. */
export type ProcessUsage = {
  readonly memoryBytes: number;
  /** The number of processes and threads. */
  readonly tasks: number;
  readonly cpuSeconds: number;
};

/** The kernel reports CPU time in this unit on every architecture that Node.js supports. */
const ticksPerSecond = 100;
/** The memory that the kernel needs for an empty file and its name. */
const bytesOfInode = 2048;
/** The default size of a Unix socket's buffer. It is counted as full, because the kernel does not report its use. */
const bytesOfSocket = 212_992;

type UsageOptions = {
  /** The paths, inside the sandbox, of the file systems in memory that the processes use. */
  readonly folders: readonly string[];
  /** If the estimate of the memory exceeds this, an exact sum is made. The estimate counts shared pages repeatedly. */
  readonly exactAboveBytes: number;
  /** If there are more processes, only their number is returned, because reading all of them takes too long. */
  readonly maxProcesses: number;
};

/**
 * Sums the resources of the process `pid` and all its descendants. Memory is the sum of their proportional set sizes,
 * the files in `folders`, and the buffers of sockets. Processes that end during the measurement count as 0.
 */
export function measureUsage(pid: number, { folders, exactAboveBytes, maxProcesses }: UsageOptions): ProcessUsage {
  const pids = descendantsOf(pid);
  if (pids.length > maxProcesses) return { memoryBytes: 0, tasks: pids.length, cpuSeconds: 0 };
  const inside = pids[1]; // the first process that bubblewrap started in its namespaces
  const files = inside === undefined ? 0 : filesOf(inside, folders) + socketsOf(inside);
  const stats = pids.map(statOf);
  const estimate = files + pageBytes() * sum(stats.map(({ residentPages }) => residentPages));
  const isExact = sumsProportions && estimate > exactAboveBytes;
  return {
    memoryBytes: isExact ? sumProportions(pids, files, exactAboveBytes) : estimate,
    tasks: sum(stats.map(({ threads }) => threads)),
    cpuSeconds: secondsOf(stats),
  };
}

/** Sums the CPU time of the process `pid` and all its descendants, as `measureUsage` does. */
export function measureCpuSeconds(pid: number, maxProcesses: number): number {
  const pids = descendantsOf(pid);
  return pids.length > maxProcesses ? 0 : secondsOf(pids.map(statOf));
}

const secondsOf = (stats: readonly Stat[]): number => sum(stats.map(({ ticks }) => ticks)) / ticksPerSecond;

/** Stops as soon as the sum exceeds the limit, because the kernel is slow to answer for each process. */
function sumProportions(pids: readonly number[], files: number, exactAboveBytes: number): number {
  let bytes = files;
  for (const pid of pids) {
    bytes += 1024 * valueOf(read(`/proc/${pid}/smaps_rollup`), 'Pss');
    if (bytes > exactAboveBytes) return bytes;
  }
  return bytes;
}

let knownPageBytes: number | undefined;
function pageBytes(): number {
  knownPageBytes ??= 1024 * valueOf(read('/proc/self/smaps'), 'KernelPageSize');
  return knownPageBytes;
}

/** Some kernels do not list children. Kernels older than 4.14 do not sum proportional set sizes. */
const listsChildren = existsSync(`/proc/self/task/${process.pid}/children`);
const sumsProportions = existsSync('/proc/self/smaps_rollup');

/** Returns the process and its descendants, each after its parent. */
export function descendantsOf(pid: number, isListed: boolean = listsChildren): readonly number[] {
  const childrenOf = isListed ? listedChildrenOf : childrenFinder();
  const pids = [pid];
  for (const parent of pids) pids.push(...childrenOf(parent));
  return pids;
}

function listedChildrenOf(pid: number): readonly number[] {
  return namesIn(`/proc/${pid}/task`).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** Reads the parents of all processes of the machine. */
function childrenFinder(): (pid: number) => readonly number[] {
  const parents = namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), valueOf(read(`/proc/${name}/status`), 'PPid')] as const);
  return (pid) => parents.filter(([, parent]) => parent === pid).map(([child]) => child);
}

type Stat = {
  readonly threads: number;
  /** CPU time of the process and of its children that have ended. */
  readonly ticks: number;
  readonly residentPages: number;
};

function statOf(pid: number): Stat {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program comes first and may contain spaces and parentheses.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const numbers = (from: number, to: number): number => sum(values.slice(from, to).map(Number));
  return { ticks: numbers(11, 15), threads: numbers(17, 18), residentPages: numbers(21, 22) };
}

/** Returns the number after a key in a file of /proc, or 0. */
function valueOf(text: string, key: string): number {
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

function filesOf(pid: number, folders: readonly string[]): number {
  return sum(
    folders.map((folder) => {
      try {
        const { bsize, blocks, bfree, files, ffree } = statfsSync(`/proc/${pid}/root${folder}`);
        return bsize * (blocks - bfree) + bytesOfInode * (files - ffree);
      } catch {
        return 0; // the process has ended
      }
    }),
  );
}

function socketsOf(pid: number): number {
  const unix = [...read(`/proc/${pid}/net/protocols`).matchAll(/^UNIX\S* +\d+ +(\d+)/gm)];
  const queues = ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((name) => [
    ...read(`/proc/${pid}/net/${name}`).matchAll(/ ([0-9A-F]{8}):([0-9A-F]{8}) /g),
  ]);
  return (
    bytesOfSocket * sum(unix.map(([, sockets]) => Number(sockets))) +
    sum(queues.map(([, sent = '', received = '']) => parseInt(sent, 16) + parseInt(received, 16)))
  );
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the process has ended
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
