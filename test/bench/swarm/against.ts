import { existsSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { type BenchResult, median } from '../bench.js';
import { readTree } from '../keep-result.js';
import { RequestServers, round, type Round } from './over-echo.js';

/**
 * Compares the processor time of a claim, an end and a call with that of another checkout. Both checkouts serve at the
 * same time and take turns within each round, so a busy machine slows both.
 */
export async function compareWithCheckout(dir: string, { against, rounds, report }: Options): Promise<BenchResult> {
  const other = path.resolve(against);
  if (!existsSync(path.join(other, 'test/bench/swarm/server-child.ts')))
    throw new Error(`--against needs the folder of a checkout of this repository; ${other} is not one.`);
  const started: RequestServers[] = [];
  const start = async (name: string, checkout?: string): Promise<RequestServers> => {
    const servers = await RequestServers.start(path.join(dir, name), checkout);
    started.push(servers);
    return servers;
  };
  const measured: Pair[] = [];
  try {
    const [own, others] = [await start('own'), await start('other', other)];
    await own.warm();
    await others.warm();
    for (let number = 1; number <= rounds; number++) {
      const pair = await measurePair(own, others, number % 2 === 0);
      measured.push(pair);
      report(`round ${number}: ${JSON.stringify(compare([pair], 0))}`);
    }
  } finally {
    for (const servers of started) await servers.kill();
  }
  const { commit, problem } = readTree(other);
  const summary = { against: { commit: commit ?? problem, rounds, ...compare(measured) } };
  return { summary, details: { against_rounds: measured }, isPart: true };
}

type Options = {
  readonly against: string;
  readonly rounds: number;
  readonly report: (line: string) => void;
};

/** One round of this checkout and one of the other checkout. */
export type Pair = { readonly own: Round; readonly other: Round };

async function measurePair(own: RequestServers, others: RequestServers, isOtherFirst: boolean): Promise<Pair> {
  if (!isOtherFirst) return { own: await own.measure(), other: await others.measure() };
  const other = await others.measure();
  return { own: await own.measure(), other };
}

/** `low` and `high` bound the ratio in 95% of random choices of as many rounds. */
export type Ratio = { readonly ratio: number; readonly low: number; readonly high: number };

/** `call` compares whole calls, because the time that a call gains on one of an ordinary run is close to zero. */
const measures = { claim: 'claim', end: 'end', call: 'swarmCall' } as const;

/** Returns the median time of this checkout over that of the other one, for each kind of request. */
export function compare(pairs: readonly Pair[], draws = 2000): Readonly<Record<keyof typeof measures, Ratio>> {
  const ratioOf = (chosen: readonly Pair[], key: keyof Round & (typeof measures)[keyof typeof measures]): number =>
    median(chosen.map(({ own }) => own[key])) / median(chosen.map(({ other }) => other[key]));
  const toRatio = (key: (typeof measures)[keyof typeof measures]): Ratio => {
    const random = createRandom(1);
    const drawn = Array.from({ length: draws }, () =>
      ratioOf(
        pairs.map(() => pairs[random.int(pairs.length)] as Pair),
        key,
      ),
    ).toSorted((left, right) => left - right);
    const ratio = ratioOf(pairs, key);
    const bound = (share: number): number => drawn[Math.floor(share * draws)] ?? ratio;
    return { ratio: round(ratio), low: round(bound(0.025)), high: round(bound(0.975)) };
  };
  return { claim: toRatio(measures.claim), end: toRatio(measures.end), call: toRatio(measures.call) };
}
