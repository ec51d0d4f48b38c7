import path from 'node:path';
import { writeTinyModel } from '../e2e/support/tiny-model.js';
import { createHostileRequests } from './hostile-requests.js';
import { createKills } from './kills.js';
import { createMutatedFolders } from './mutated-folders.js';
import { createMutatedYaml } from './mutated-yaml.js';
import { soak } from './soak.js';
import { countProblems, createWorld, runCase, type Attack, type World } from './world.js';

export type ChaosOptions = {
  /** A scratch folder. */
  readonly folder: string;
  readonly minutes: number;
  readonly seed: number;
  /** The name of one attack. If it is undefined, all attacks run. */
  readonly only?: string | undefined;
  /** The first case of each attack. */
  readonly first?: number;
  /** The number of cases of each attack; undefined means as many as the time allows. */
  readonly cases?: number | undefined;
};

export type ChaosReport = {
  readonly kills: number;
  readonly wrong_ends: number;
  readonly mutations: number;
  readonly silent_differences: number;
  readonly stack_traces: number;
  readonly hangs: number;
  readonly requests: number;
  readonly let_in: number;
  /** The CPU time for which one request, or one turn of the event loop, kept all others waiting. */
  readonly longest_stall_ms: number;
  readonly rss_slope_mb_per_hour: number;
};

const limits = { stallMs: 250, slopeMbPerHour: 20 } as const;

export const isSound = (report: ChaosReport): boolean =>
  report.wrong_ends + report.silent_differences + report.stack_traces + report.hangs + report.let_in === 0 &&
  report.longest_stall_ms <= limits.stallMs &&
  report.rss_slope_mb_per_hour <= limits.slopeMbPerHour;

/** An attack, and how many of its cases come before the next attack's turn. */
type Turn = { readonly attack: Attack; readonly cases: number };

/** Runs attacks in turns until the time is over. */
async function takeTurns(
  world: World,
  turns: readonly Turn[],
  options: ChaosOptions,
  isOver: () => boolean,
): Promise<void> {
  const { first = 0, cases = Number.POSITIVE_INFINITY, only } = options;
  const chosen = turns.filter(({ attack }) => only === undefined || attack.name === only);
  const next = new Map(chosen.map(({ attack }) => [attack, first]));
  const isLeft = ({ attack }: Turn): boolean => (next.get(attack) ?? first) < first + cases;
  while (!isOver() && chosen.some(isLeft))
    for (const turn of chosen)
      for (let done = 0; done < turn.cases && isLeft(turn) && !isOver(); done++) {
        const index = next.get(turn.attack) ?? first;
        next.set(turn.attack, index + 1);
        await runCase(world, turn.attack, index);
      }
}

/**
 * Attacks that start whole processes run in turns, and at the same time those that need a single process run in turns,
 * so that two cores are busy. The soak needs little processor time.
 */
export async function causeChaos(options: ChaosOptions): Promise<ChaosReport> {
  const endsAt = performance.now() + options.minutes * 60_000;
  const world = createWorld(options.seed, options.folder);
  let isFailed = false;
  const isOver = (): boolean => isFailed || performance.now() > endsAt;
  const modelDir = await writeTinyModel(path.join(options.folder, 'model'));
  const soaking = options.only === undefined ? soak({ isOver, paceMs: 250 }) : undefined;
  const requests = await createHostileRequests(world);
  const attacks: Attack[] = [requests];
  const prepare = async (attack: Promise<Attack>): Promise<Attack> => {
    const prepared = await attack;
    attacks.push(prepared);
    return prepared;
  };
  const withProcesses = async (): Promise<void> => {
    const kills = await prepare(createKills(world, modelDir, 'kills'));
    const disks = await prepare(createKills(world, modelDir, 'full-disks'));
    const turns = [
      { attack: kills, cases: 5 },
      { attack: disks, cases: 1 },
    ];
    await takeTurns(world, turns, options, isOver);
  };
  const withinOne = async (): Promise<void> => {
    const yaml = await prepare(createMutatedYaml(world));
    const folders = await prepare(createMutatedFolders(world, modelDir));
    const turns = [
      { attack: yaml, cases: 5 },
      { attack: folders, cases: 5 },
      { attack: requests, cases: 100 },
    ];
    await takeTurns(world, turns, options, isOver);
  };
  try {
    const guard = (lane: Promise<unknown>): Promise<unknown> =>
      lane.catch((error: unknown) => {
        isFailed = true;
        throw error;
      });
    const lanes = [withProcesses(), withinOne(), ...(soaking === undefined ? [] : [soaking])];
    await Promise.all(lanes.map(guard));
    const { kills, mutations, requests: asked } = world.counts;
    const { wrong_ends, silent_differences, stack_traces, hangs, let_in } = countProblems(world);
    return {
      kills,
      wrong_ends,
      mutations,
      silent_differences,
      stack_traces,
      hangs,
      requests: asked,
      let_in,
      longest_stall_ms: Math.round(await requests.longestStallMs()),
      rss_slope_mb_per_hour: (await soaking)?.rssSlopeMbPerHour ?? 0,
    };
  } finally {
    for (const attack of attacks) await attack.close();
  }
}
