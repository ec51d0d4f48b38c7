import { existsSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { type BenchResult, median } from '../bench.js';
import { readTree } from '../keep-result.js';
import { round } from './over-echo.js';
import { inParallel, Requests } from './requests.js';
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
  for (let left = rounds; left > 0; left -= roundsPerStart) {
    const place = path.join(dir, String(starts.length));
    starts.push(await measureStart(place, other, Math.min(left, roundsPerStart)));
    report(`start ${starts.length}: ${JSON.stringify(compare(starts, 0))}`);
  }
  const { commit, problem } = readTree(other);
  const summary = { against: { commit: commit ?? problem, rounds, starts: starts.length, ...compare(starts) } };
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
/** Requests in flight at the same time. The servers take turns after as many. */
const partSize = 64;

const kinds = ['claim', 'end', 'call'] as const;
type Kind = (typeof kinds)[number];
/** Milliseconds of processor time for each request of a round. */
type Times = {
  /** The median of all parts. It leaves out the few parts in which V8 collects garbage or compiles. */
  readonly usual: number;
  readonly mean: number;
};
type Side = Readonly<Record<Kind, Times>>;
/** A round of this checkout and of the other one. */
export type Pair = { readonly own: Side; readonly other: Side };
/** The rounds that one pair of processes answered. */
export type Start = readonly Pair[];

async function measureStart(dir: string, other: string, rounds: number): Promise<Start> {
  const requests = new Requests(partSize);
  const servers: ServerProcess[] = [];
  try {
    for (const [name, checkout] of [['own'], ['other', other]] as const)
      servers.push(await ServerProcess.start('swarm', path.join(dir, name), checkout));
    for (const { url } of servers) await postTasks(requests, url, 2000);
    for (let warm = 0; warm < warmRounds; warm++) await measureRound(requests, servers, 1);
    const pairs: Pair[] = [];
    for (let number = 0; number <= rounds; number++) {
      const pair = await measureRound(requests, number % 2 === 0 ? servers : servers.toReversed(), callsPerEpisode);
      if (number > 0) pairs.push(number % 2 === 0 ? pair : { own: pair.other, other: pair.own });
    }
    return pairs;
  } finally {
    requests.close();
    for (const server of servers) await server.kill();
  }
}

/** Runs the same episodes at two servers. The first one is `own` in the result. */
async function measureRound(requests: Requests, servers: readonly ServerProcess[], calls: number): Promise<Pair> {
  const [own, other] = servers.map((server) => new Episodes(requests, server));
  if (own === undefined || other === undefined) throw new TypeError('A round needs two servers.');
  for (const kind of ['claim', ...Array.from({ length: calls }, () => 'call' as const), 'end'] as const)
    for (let from = 0; from < episodesPerRound; from += partSize)
      for (const episodes of [own, other]) await episodes.send(kind, from);
  return { own: own.times(), other: other.times() };
}

/** The episodes of one round at one server, and the processor time of their requests. */
class Episodes {
  readonly #requests: Requests;
  readonly #server: ServerProcess;
  readonly #claimed: Claimed[] = [];
  readonly #talks: Conversation[] = [];
  readonly #parts: Readonly<Record<Kind, number[]>> = { claim: [], end: [], call: [] };

  constructor(requests: Requests, server: ServerProcess) {
    this.#requests = requests;
    this.#server = server;
  }

  /** Sends one request of this kind for each episode of a part. */
  async send(kind: Kind, from: number): Promise<void> {
    const before = await this.#server.cpuMs();
    await inParallel(
      Array.from({ length: partSize }, (_none, index) => from + index),
      partSize,
      (index) => this.#send(kind, index),
    );
    this.#parts[kind].push(((await this.#server.cpuMs()) - before) / partSize);
  }

  async #send(kind: Kind, index: number): Promise<unknown> {
    const { url } = this.#server;
    if (kind === 'claim') {
      const claimed = await claim(this.#requests, url);
      this.#claimed[index] = claimed;
      this.#talks[index] = new Conversation(this.#requests, `${claimed.base_url}/main/v1`, {
        key: claimed.key,
        system,
      });
      return claimed;
    }
    if (kind === 'call') return this.#talks[index]?.ask('What is 6 times 7?');
    return end(this.#requests, url, this.#claimed[index] as Claimed);
  }

  times(): Side {
    const timesOf = (kind: Kind): Times => {
      const parts = this.#parts[kind];
      return { usual: round(median(parts), 5), mean: round(meanOf(parts), 5) };
    };
    return { claim: timesOf('claim'), end: timesOf('end'), call: timesOf('call') };
  }
}

const system = wordsOf(2000);

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** `low` and `high` bound the ratio in 95% of random choices of as many starts, and of as many of their rounds. */
export type Ratio = {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** The ratio of all processor time, with the collections of garbage. It needs more rounds to be as certain. */
  readonly ratio_of_means: number;
};

/** Returns the median time of this checkout over that of the other one, for each kind of request. */
export function compare(starts: readonly Start[], draws = 2000): Readonly<Record<Kind, Ratio>> {
  const ratioOf = (pairs: readonly Pair[], of: (side: Side) => number, join = median): number =>
    join(pairs.map(({ own }) => of(own))) / join(pairs.map(({ other }) => of(other)));
  const toRatio = (kind: Kind): Ratio => {
    const random = createRandom(1);
    const choose = <Item>(items: readonly Item[]): readonly Item[] =>
      items.map(() => items[random.int(items.length)] as Item);
    const ratio = ratioOf(starts.flat(), (side) => side[kind].usual);
    const drawn = Array.from({ length: draws }, () =>
      ratioOf(choose(starts).flatMap(choose), (side) => side[kind].usual),
    ).toSorted((left, right) => left - right);
    const bound = (share: number): number => drawn[Math.floor(share * draws)] ?? ratio;
    const ofMeans = ratioOf(starts.flat(), (side) => side[kind].mean, meanOf);
    return { ratio: round(ratio), low: round(bound(0.025)), high: round(bound(0.975)), ratio_of_means: round(ofMeans) };
  };
  return { claim: toRatio('claim'), end: toRatio('end'), call: toRatio('call') };
}
