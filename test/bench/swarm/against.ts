import { existsSync } from 'node:fs';
import path from 'node:path';
import { createRandom, mean } from '@agentjet/core';
import { type BenchResult, median } from '../bench.js';
import { readTree } from '../keep-result.js';
import { round } from './over-echo.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from './requests.js';
import { ServerProcess } from './server-process.js';
import { claim, type Claimed, Conversation, end, postTasks, wordsOf } from './swarm-load.js';

/**
 * Compares the processor time of a claim, an end and a call with that of another checkout. The servers of both checkouts
 * run at the same time and take turns with every part of 64 requests, so a busy machine slows both. Two processes with
 * the same code differ by up to 5%, so the servers are started several times.
 */
export async function compareWithCheckout(dir: string, { against, rounds, report }: Options): Promise<BenchResult> {
  const other = path.resolve(against);
  if (!existsSync(path.join(other, 'test/bench/swarm/server-child.ts')))
    throw new Error(`--against needs the folder of a checkout of this repository; ${other} is not one.`);
  const starts: Start[] = [];
  while (starts.length * roundsPerStart < rounds) {
    starts.push(await measureStart(path.join(dir, String(starts.length)), other));
    report(`start ${starts.length}: ${JSON.stringify(compare(starts.slice(-1), 0))}`);
  }
  const { commit, problem } = readTree(other);
  const counts = { starts: starts.length, rounds: starts.length * roundsPerStart };
  const summary = { against: { commit: commit ?? problem, ...counts, ...compare(starts) } };
  return { summary, details: { against_starts: starts }, isPart: true };
}

type Options = {
  readonly against: string;
  readonly rounds: number;
  readonly report: (line: string) => void;
};

const roundsPerStart = 6;
/** Rounds with one call for each episode. After them, an end has been answered almost 7,000 times. */
const warmRounds = 18;
const episodesPerRound = 384;
const callsPerEpisode = 4;
/** The number of requests of a part. */
const partSize = 64;

type Kind = 'claim' | 'end' | 'call';
/** Milliseconds of processor time for each request. */
type Times = {
  /** The lower quartile of all parts. Other work, compilation and collections of garbage only make a part longer. */
  readonly usual: number;
  readonly mean: number;
};
/** The times of a process with the code of this checkout, and of one with the code of the other checkout. */
export type Start = Readonly<Record<Kind, { readonly own: Times; readonly other: Times }>>;

async function measureStart(dir: string, other: string): Promise<Start> {
  const requests = new Requests(partSize);
  const own = new Side(requests);
  const others = new Side(requests);
  try {
    await own.start(path.join(dir, 'own'));
    await others.start(path.join(dir, 'other'), other);
    for (let warm = 0; warm < warmRounds; warm++) await playRound([own, others], 1);
    await playRound([own, others], callsPerEpisode);
    for (const side of [own, others]) side.forget();
    for (let number = 1; number <= roundsPerStart; number++)
      await playRound(number % 2 === 0 ? [own, others] : [others, own], callsPerEpisode);
    const timesOf = (kind: Kind) => ({ own: own.times(kind), other: others.times(kind) });
    return { claim: timesOf('claim'), end: timesOf('end'), call: timesOf('call') };
  } finally {
    requests.close();
    for (const side of [own, others]) await side.kill();
  }
}

/** Runs the same episodes at both servers, which take turns after each part. */
async function playRound(sides: readonly Side[], calls: number): Promise<void> {
  for (const kind of ['claim', ...Array.from({ length: calls }, () => 'call' as const), 'end'] as const)
    for (let from = 0; from < episodesPerRound; from += partSize) for (const side of sides) await side.send(kind, from);
}

/** The server of one checkout, and the processor time of each part of its requests. */
class Side {
  readonly #requests: Requests;
  readonly #claimed: Claimed[] = [];
  readonly #talks: Conversation[] = [];
  #parts: Readonly<Record<Kind, number[]>> = { claim: [], end: [], call: [] };
  #server: ServerProcess | undefined;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  async start(dir: string, checkout?: string): Promise<void> {
    this.#server = await ServerProcess.start('swarm', dir, checkout);
    await postTasks(this.#requests, this.#server.url, 2000);
  }

  /** Sends one request of this kind for each episode of a part. The requests of the part are in flight together. */
  async send(kind: Kind, from: number): Promise<void> {
    const server = this.#server;
    if (server === undefined) throw new TypeError('The server was not started.');
    const before = await server.cpuMs();
    const indices = Array.from({ length: partSize }, (_none, index) => from + index);
    await inParallel(indices, partSize, (index) => this.#send(kind, index, server.url));
    this.#parts[kind].push(((await server.cpuMs()) - before) / partSize);
  }

  async #send(kind: Kind, index: number, url: string): Promise<unknown> {
    if (kind === 'call') return this.#talks[index]?.ask('What is 6 times 7?');
    if (kind === 'end') return end(this.#requests, url, this.#claimed[index] as Claimed);
    const claimed = await claim(this.#requests, url);
    const { base_url, key } = claimed;
    this.#claimed[index] = claimed;
    this.#talks[index] = new Conversation(this.#requests, `${base_url}/main/v1`, { key, system });
    return claimed;
  }

  /** Forgets the parts so far. */
  forget(): void {
    this.#parts = { claim: [], end: [], call: [] };
  }

  times(kind: Kind): Times {
    const parts = this.#parts[kind].toSorted((one, other) => one - other);
    return { usual: round(parts[Math.floor(parts.length / 4)] ?? 0, 5), mean: round(mean(parts), 5) };
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }
}

const system = wordsOf(2000);

/** `low` and `high` bound the ratio in 95% of random choices of as many starts. */
export type Ratio = {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** The ratio of all processor time. It is less certain, because few parts take much more time than the others. */
  readonly ratio_of_means: number;
};

/** Returns the median of the starts' ratios between this checkout and the other one, for each kind of request. */
export function compare(starts: readonly Start[], draws = 2000): Readonly<Record<Kind, Ratio>> {
  const toRatio = (kind: Kind): Ratio => {
    const random = createRandom(1);
    const ratios = starts.map(({ [kind]: { own, other } }) => own.usual / other.usual);
    const drawn = Array.from({ length: draws }, () =>
      median(ratios.map(() => ratios[random.int(ratios.length)] ?? 0)),
    ).toSorted((left, right) => left - right);
    const ratio = median(ratios);
    const bound = (share: number): number => drawn[Math.floor(share * draws)] ?? ratio;
    const meanOf = (side: 'own' | 'other'): number => mean(starts.map(({ [kind]: times }) => times[side].mean));
    const ofMeans = meanOf('own') / meanOf('other');
    return { ratio: round(ratio), low: round(bound(0.025)), high: round(bound(0.975)), ratio_of_means: round(ofMeans) };
  };
  return { claim: toRatio('claim'), end: toRatio('end'), call: toRatio('call') };
}
