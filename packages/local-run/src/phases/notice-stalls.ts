import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** A turn of the event loop that takes longer than this is reported. */
const stallMs = 1000;
const lookMs = 250;
/** A stall with at least this share of processor time counts as computing. */
const computingShare = 0.5;

/** Returns the processor time of this thread in milliseconds, or undefined if the platform does not report it. */
export type CpuClock = () => number | undefined;

type Parts = {
  readonly onNotice: (message: string) => void;
  /** Returns how many episodes run at the same time. */
  readonly numWorkers: () => number;
  readonly cpuClock?: CpuClock;
};

type Stall = { readonly wallMs: number; readonly cpuMs: number | undefined };

/**
 * Reports delays of the event loop of more than a second, once for each of two causes: this thread was computing, or it
 * did not run. All episodes share the loop, and their connections time out during a delay. Returns a function that ends
 * the watch.
 */
export function noticeStalls({ onNotice, numWorkers, cpuClock = threadCpuMs }: Parts): () => void {
  const reported = new Set<boolean>();
  let last = { wallMs: performance.now(), cpuMs: cpuClock() };
  const timer = setInterval(() => {
    const now = { wallMs: performance.now(), cpuMs: cpuClock() };
    const stall: Stall = {
      wallMs: now.wallMs - last.wallMs - lookMs,
      cpuMs: now.cpuMs === undefined || last.cpuMs === undefined ? undefined : now.cpuMs - last.cpuMs,
    };
    last = now;
    if (stall.wallMs < stallMs) return;
    const isComputing = stall.cpuMs !== undefined && stall.cpuMs >= computingShare * stall.wallMs;
    if (reported.has(isComputing)) return;
    reported.add(isComputing);
    onNotice(isComputing ? describeComputing(stall, numWorkers()) : describeWaiting(stall));
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function describeComputing({ wallMs, cpuMs = 0 }: Stall, numWorkers: number): string {
  return (
    `The event loop did not turn for ${seconds(wallMs)}, of which this thread computed ${seconds(cpuMs)}: an agent, a tool or a judge computes without awaiting, ` +
    `and meanwhile the connections of all other episodes wait or break. Lower rollout.max_env_worker (${numWorkers}), or move that work to a worker thread or a process.`
  );
}

function describeWaiting({ wallMs, cpuMs }: Stall): string {
  const computed = cpuMs === undefined ? '' : `, of which this thread computed ${seconds(cpuMs)}`;
  return (
    `The event loop did not turn for ${seconds(wallMs)}${computed}: the machine is busy, the process was stopped, or code waits ` +
    'synchronously, for example in execSync. Connections of episodes may have timed out meanwhile.'
  );
}

/** Linux counts processor time in hundredths of a second. */
const msPerTick = 10;

/**
 * `process.threadCpuUsage` exists since Node 23.9. In earlier versions, the same figure is read from /proc on Linux.
 */
function threadCpuMs(): number | undefined {
  const { threadCpuUsage } = process as { readonly threadCpuUsage?: () => NodeJS.CpuUsage };
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage.call(process);
    return (user + system) / 1000;
  }
  if (!isMainThread || process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name of the process may contain spaces
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  } catch {
    return undefined;
  }
}
