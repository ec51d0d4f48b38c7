import { setTimeout as sleep } from 'node:timers/promises';
import { startHost, type Host } from './start-host.js';

/** Runs episodes over HTTP, one after another, at a steady pace. If memory grows steadily, there is a leak. */
export type Soak = {
  readonly episodes: number;
  readonly calls: number;
  /** The smallest and largest number of open files after the warm-up. */
  readonly files: readonly [least: number, most: number];
  readonly rssMb: readonly number[];
  readonly rssSlopeMbPerHour: number;
  /** The slope of JavaScript's memory. A leak of objects or buffers shows here first. */
  readonly heldSlopeMbPerHour: number;
};

export type SoakOptions = { readonly isOver: () => boolean; readonly paceMs: number };

type Sample = { readonly hours: number; readonly rssMb: number; readonly heldMb: number; readonly files: number };

const messages = [{ role: 'user', content: 'Say a few words about the weather of today, if you please.' }];
const calls = [
  ['/chat/completions', { messages }],
  ['/chat/completions', { messages, stream: true }],
  ['/messages', { messages, max_tokens: 64 }],
  ['/responses', { input: messages }],
] as const;

async function runEpisode(host: Host): Promise<void> {
  const { episode = 0, baseUrl = '', apiKey = '' } = await host.ask({ kind: 'open' });
  for (const [path, body] of calls) {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const response = await fetch(baseUrl + path, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'm', ...body }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  }
  await host.ask({ kind: 'end', episode });
}

/**
 * Returns the median of the slopes between all pairs of samples (Theil and Sen). A single odd sample moves it little.
 */
export function medianSlope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const slopes = points
    .flatMap((one, at) => points.slice(at + 1).map((other) => (other.y - one.y) / (other.x - one.x)))
    .toSorted((a, b) => a - b);
  const middle = slopes.length / 2;
  return ((slopes[Math.ceil(middle) - 1] ?? 0) + (slopes[Math.floor(middle)] ?? 0)) / 2;
}

const warmUpEpisodes = 400;
const sampleEveryMs = 5000;

/** Compilers and caches fill up at first, so the first part of the samples does not count. */
const settledShare = 0.5;

export async function soak({ isOver, paceMs }: SoakOptions): Promise<Soak> {
  const host = await startHost({ collects: true });
  const startedAt = performance.now();
  const samples: Sample[] = [];
  let episodes = 0;
  let sampledAt = 0;
  try {
    while (!isOver()) {
      await runEpisode(host);
      if (++episodes > warmUpEpisodes) await sleep(paceMs);
      if (performance.now() - sampledAt < sampleEveryMs) continue;
      sampledAt = performance.now();
      const { rssMb, heldMb, files } = await host.ask({ kind: 'report' });
      samples.push({ hours: (sampledAt - startedAt) / 3_600_000, rssMb, heldMb, files });
    }
  } finally {
    host.close();
  }
  const settled = samples.slice(Math.floor(samples.length * settledShare));
  const files = settled.map((sample) => sample.files);
  const slopeOf = (name: 'rssMb' | 'heldMb'): number =>
    Math.round(10 * medianSlope(settled.map((sample) => ({ x: sample.hours, y: sample[name] })))) / 10;
  return {
    episodes,
    calls: episodes * calls.length,
    files: [Math.min(...files), Math.max(...files)],
    rssMb: samples.map(({ rssMb }) => Math.round(rssMb * 10) / 10),
    rssSlopeMbPerHour: slopeOf('rssMb'),
    heldSlopeMbPerHour: slopeOf('heldMb'),
  };
}
