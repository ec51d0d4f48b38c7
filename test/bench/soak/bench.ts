/**
 * Does the server of a swarm keep its memory, its handles and its pace? 200 clients use one server process with a
 * scripted engine, for as many minutes as are asked for. There are faults all the time: clients that vanish,
 * connections that break in the middle of an end, ends and calls that are sent twice, hostile bodies, and commits that
 * fail.
 */
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';
import { type BenchOptions, type BenchResult, median, numberOption, type OptionTexts } from '../bench.js';
import { quantile } from '../loop/cpu-stalls.js';
import { Requests } from '../swarm/requests.js';
import { ServerProcess, type Usage } from '../swarm/server-process.js';
import { postTasks } from '../swarm/swarm-load.js';
import { SoakClient, type SoakLog } from './soak-client.js';

const numClients = 200;
const sampleMs = 5000;
/** The memory of a fresh process is not counted. */
const settleMinutes = 5;
const faultMs = 60_000;
const longestStandstillMs = 60_000;

export const optionTexts: OptionTexts = { '--minutes <n>': 'length; default 30' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-soak-'));
  const minutes = numberOption(args, '--minutes', 30);
  try {
    return await soak(dir, { minutes, report });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Sample = Usage & { readonly atMs: number };

type Options = { readonly minutes: number; readonly report: (line: string) => void };

async function soak(dir: string, { minutes, report }: Options): Promise<BenchResult> {
  const server = await ServerProcess.start('soak', dir);
  await server.lookForStalls();
  const requests = new Requests(numClients);
  await postTasks(requests, server.url, 1000);
  const startMs = performance.now();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // one for each client
  const log: SoakLog = { startMs, latencies: [], acknowledged: new Set(), counts: {} };
  const clients = Array.from({ length: numClients }, (_none, index) => {
    const client = new SoakClient({
      url: server.url,
      requests,
      name: `client-${index}`,
      random: createRandom(index),
      log,
    });
    return client.run(stop.signal);
  });
  const samples = await watch(server, { minutes, startMs, report, log });
  stop.abort();
  await Promise.all(clients);
  const account = await accountOf(server);
  requests.close();
  const { numExits } = server;
  await server.kill();
  const lost = Math.max(0, log.acknowledged.size - Number(account['acknowledged'])) + numExits;
  return summarize({ samples, log, minutes, lost, account });
}

/** Takes samples of the server until the time is over. Every minute it makes a commit of the server's store fail. */
async function watch(
  server: ServerProcess,
  { minutes, startMs, report, log }: Options & { readonly startMs: number; readonly log: SoakLog },
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const endMs = startMs + minutes * 60_000;
  let nextFaultMs = startMs + faultMs / 2;
  let known = { size: 0, atMs: 0 };
  while (performance.now() < endMs) {
    await sleep(Math.min(sampleMs, Math.max(0, endMs - performance.now())));
    const sample = { ...(await server.usage()), atMs: performance.now() - startMs };
    samples.push(sample);
    if (performance.now() > nextFaultMs) {
      nextFaultMs += faultMs;
      await server.failOnce();
    }
    const { rssMb, handles } = sample;
    if (log.acknowledged.size > known.size) known = { size: log.acknowledged.size, atMs: sample.atMs };
    if (sample.atMs - known.atMs > longestStandstillMs)
      throw new Error(`No end was acknowledged for a minute: ${await describeServer(server)}`);
    if (samples.length % 12 === 0)
      report(
        `minute ${Math.round(sample.atMs / 60_000)}: ${Math.round(rssMb)} MB, ${handles} handles, ${log.acknowledged.size} acknowledged`,
      );
  }
  return samples;
}

async function describeServer({ url }: ServerProcess): Promise<string> {
  return (await fetch(`${url}/swarm/v1/server`)).text();
}

async function accountOf({ url }: ServerProcess): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const response = await fetch(`${url}/swarm/v1/server`);
    if (response.ok)
      return ((await response.json()) as { readonly account: Readonly<Record<string, unknown>> }).account;
    await sleep(200); // the server recovers from the last fault
  }
}

type Soaked = {
  readonly samples: readonly Sample[];
  readonly log: SoakLog;
  readonly minutes: number;
  readonly lost: number;
  readonly account: Readonly<Record<string, unknown>>;
};

function summarize({ samples, log, minutes, lost, account }: Soaked): BenchResult {
  const settleMs = Math.min(settleMinutes, minutes / 6) * 60_000;
  const settled = samples.filter(({ atMs }) => atMs >= settleMs);
  const tenth = Math.max(1, Math.round(settled.length / 10));
  const handlesOf = (some: readonly Sample[]): number => median(some.map(({ handles }) => handles));
  const windowMs = settleMs;
  const totalMs = minutes * 60_000;
  const p99 = (from: number, to: number): number =>
    quantile(
      log.latencies.filter(({ atMs }) => atMs >= from && atMs < to).map(({ ms }) => ms),
      0.99,
    );
  const round = (value: number): number => Math.round(value * 10) / 10;
  return {
    summary: {
      rss_slope_mb_per_hour: round(slopeOf(settled)),
      handles_growth: Math.round(handlesOf(settled.slice(-tenth)) - handlesOf(settled.slice(0, tenth))),
      p99_first: round(p99(windowMs, 2 * windowMs)),
      p99_last: round(p99(totalMs - windowMs, totalMs)),
      lost,
    },
    details: {
      minutes,
      clients: numClients,
      acknowledged: log.acknowledged.size,
      account,
      faults: log.counts,
      longest_stall_ms: round(Math.max(...samples.map(({ longestStallMs }) => longestStallMs))),
      samples: samples.map(({ atMs, rssMb, heapMb, handles }) => ({
        minute: round(atMs / 60_000),
        rss_mb: round(rssMb),
        heap_mb: round(heapMb),
        handles,
      })),
    },
  };
}

/** Returns the slope of the line of least squares through the memory, in MB per hour. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const hours = samples.map(({ atMs }) => atMs / 3_600_000);
  const meanHours = mean(hours);
  const meanMb = mean(samples.map(({ rssMb }) => rssMb));
  const along = samples.map(({ rssMb }, at) => ((hours[at] ?? 0) - meanHours) * (rssMb - meanMb));
  const across = hours.map((hour) => (hour - meanHours) ** 2);
  return mean(along) / mean(across);
}
