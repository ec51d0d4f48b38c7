import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { formatShare } from '@agentjet/core';

/**
 * How much of the processors does this process get, if it asks for all that a benchmark will use? Threads that do
 * nothing but count run for some slots of time. Other work takes processor time away from them, or makes them slower (a
 * shared core, a busy host). A benchmark whose figures are wall time is then worth nothing.
 */
export type Noise = {
  readonly threads: number;
  /** The processor time that the threads got, divided by the time that they requested. It is 1 on an idle machine. */
  readonly share: number;
  /** The count of the slowest slot divided by that of the fastest. */
  readonly steadiness: number;
};

export type NoiseProbe = {
  readonly measure: () => Promise<Noise>;
  readonly close: () => Promise<void>;
};

const slots = 5;
const slotMs = 40;
const leastShare = 0.92;
const leastSteadiness = 0.75;

export async function startNoiseProbe(threads: number): Promise<NoiseProbe> {
  const file = new URL('./spin-worker.mjs', import.meta.url);
  const workers = Array.from({ length: threads }, () => new Worker(file));
  const spin = async (ms: number): Promise<number> => {
    const counts = await Promise.all(
      workers.map(async (worker) => {
        worker.postMessage(ms);
        const [rounds] = (await once(worker, 'message')) as readonly number[];
        return rounds ?? 0;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  };
  await spin(slotMs); // warms up, so that the code is compiled
  return {
    measure: async () => {
      const before = process.cpuUsage();
      const startedAt = performance.now();
      const counts: number[] = [];
      for (let slot = 0; slot < slots; slot++) counts.push(await spin(slotMs));
      const elapsedMs = performance.now() - startedAt;
      const { user, system } = process.cpuUsage(before);
      const share = (user + system) / 1000 / (elapsedMs * threads);
      return { threads, share: round(share), steadiness: round(Math.min(...counts) / Math.max(...counts)) };
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

/** Returns why the machine is too busy to measure wall time, or undefined if it is not. */
export function busyReason({ threads, share, steadiness }: Noise): string | undefined {
  if (share < leastShare)
    return `${threads} busy threads got ${formatShare(share)} of the processor time that they asked for; an idle machine gives at least ${formatShare(leastShare)}`;
  if (steadiness < leastSteadiness)
    return `the same work went at ${formatShare(steadiness)} of its speed from one moment to the next; a quiet machine keeps at least ${formatShare(leastSteadiness)}`;
  return undefined;
}

export class TooBusyError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`Too busy: ${reason}. Nothing was kept. Stop the other work and run it again.`);
    this.name = 'TooBusyError';
    this.reason = reason;
  }
}

export type Patience = {
  /** The number of measurements before the machine is given up. */
  readonly attempts: number;
  readonly pauseMs: number;
};

/** Resolves when the machine is quiet. Throws a TooBusyError if it stays busy. */
export async function waitUntilQuiet(
  probe: Pick<NoiseProbe, 'measure'>,
  { attempts, pauseMs }: Patience,
): Promise<Noise> {
  for (let attempt = 1; ; attempt++) {
    const noise = await probe.measure();
    const reason = busyReason(noise);
    if (reason === undefined) return noise;
    if (attempt >= attempts) throw new TooBusyError(reason);
    await sleep(pauseMs);
  }
}

const widestSpread = 1.5;

/**
 * Throws a TooBusyError if the ratios of neighbouring turns differ too much, because other work may come and go between
 * two checks of the machine. PyTorch's threads spin while they wait for one another. A thread that has lost its core
 * delays all of them, and the ratio of one turn is then far from that of the next.
 */
export function refuseSpread(ratios: readonly number[]): void {
  const sorted = ratios.toSorted((left, right) => left - right);
  const at = (part: number): number => sorted[Math.round(part * (sorted.length - 1))] ?? NaN;
  if (at(0.75) / at(0.25) > widestSpread)
    throw new TooBusyError(
      `the ratios of ${sorted.length} turns spread from ${at(0).toFixed(2)} to ${at(1).toFixed(2)}, their middle half by more than a factor of ${widestSpread}`,
    );
}
