/**
 * Does a verifier pay what it should, and nothing else? Our tasks are played by their solutions and by doing nothing, and
 * Harbor itself plays them too. Then agents attack the verifier, calls of the engine fail at random, and processes are
 * killed. Pods of a real API server play the tasks in the nightly job `kubernetes`, whose kept result becomes a part of
 * this one. `--only tasks,attacks` runs some parts. Each part is kept as soon as it is measured. The benchmark needs
 * docker or podman (setup.sh).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findWorkingEngine } from '@agentjet/sandbox/boxes';
import {
  listOption,
  measureParts,
  numberOption,
  type BenchOptions,
  type BenchResult,
  type Measured,
  type OptionTexts,
} from '../bench.js';
import { inParallel } from '../in-parallel.js';
import { attacksFolder, listAttacks, tryAttack, type AttackModes } from './attack.js';
import { injectFaults } from './faults.js';
import { playInside } from './inside/play-inside.js';
import { killPlayers } from './kills.js';
import { measureOverhead } from './overhead.js';
import { doNothing, openBench, playTask, readTasks, solve, type Play } from './play.js';
import { readCluster } from './read-cluster.js';
import { compareWithHarbor } from './real-harbor.js';

const parts = ['tasks', 'equality', 'attacks', 'inside', 'faults', 'kills', 'overhead', 'kubernetes'] as const;

export const optionTexts: OptionTexts = {
  '--only <part>,...': 'measures some parts',
  '--parallel <n>': 'trials at a time; default 1',
  '--episodes <n>': 'episodes under faults; default 200',
  '--faults <n>': 'faults; default 200',
  '--kills <n>': 'killed processes; default 50',
  '--sessions <n>': 'sessions that measure the overhead; default 200',
};

export async function run({ report, args, keepPart }: BenchOptions): Promise<BenchResult> {
  const engine = await findWorkingEngine();
  if (typeof engine === 'string') throw new Error(`${engine}. On Debian: eval "$(sh test/bench/harbor/setup.sh)".`);
  const only = listOption(args, '--only', parts);
  const measures = measuresOf({ report, args });
  const named = Object.fromEntries(
    parts.map((part) => [part, async () => withEngine(engine.name, await measures[part]())]),
  ) as typeof measures;
  return { ...(await measureParts(only, named, keepPart)), isPart: only.length < parts.length };
}

/** Every part names the engine, because a later run may measure another part with another engine. */
const withEngine = (engine: string, { summary, details }: Measured): Measured => ({
  summary: { engine, ...summary },
  details,
});

function measuresOf({
  report,
  args,
}: Pick<BenchOptions, 'report' | 'args'>): Readonly<Record<(typeof parts)[number], () => Promise<Measured>>> {
  const parallel = numberOption(args, '--parallel', 1);
  return {
    tasks: async () => ({ summary: await playAll(report), details: {} }),
    equality: async () => {
      const { summary, verdicts } = await compareWithHarbor(await readTasks(), { parallel, report });
      return { summary, details: { harbor: verdicts } };
    },
    attacks: async () => {
      const { summary, outcomes } = await attackAll(report, parallel);
      return { summary: { attacks: summary }, details: { attacks: outcomes } };
    },
    inside: async () => {
      const { summary, outcomes } = await playInside(report);
      return { summary: { agents_in_box: summary }, details: { inside: outcomes } };
    },
    faults: async () => {
      const episodes = numberOption(args, '--episodes', 200);
      const number = numberOption(args, '--faults', 200);
      const faults = await injectFaults(await readTasks(), { episodes, faults: number, parallel: 4, seed: 1 });
      const { injected, wrongRewards, finished } = faults;
      report(`faults: ${JSON.stringify(faults)}`);
      return { summary: { faults: { injected, wrong_rewards: wrongRewards, finished } }, details: { faults } };
    },
    kills: async () => {
      const { left, touched, running } = await killPlayers(numberOption(args, '--kills', 50), 1);
      report(`kills: ${running} boxes ran, ${left} left, ${touched} of others touched`);
      const details = { boxes_of_others_touched: touched, boxes_that_ran_when_killed: running };
      return { summary: { left_after_kills: left }, details };
    },
    overhead: async () => {
      const overhead = await measureOverhead(numberOption(args, '--sessions', 200));
      report(`overhead: ${JSON.stringify(overhead)}`);
      return { summary: { overhead_percent: overhead.overheadPercent }, details: { overhead } };
    },
    kubernetes: async () => {
      const cluster = readCluster();
      report(`kubernetes: ${JSON.stringify(cluster)}`);
      return { summary: { kubernetes: cluster.summary }, details: { kubernetes: cluster.details } };
    },
  };
}

/** Every part names the engine. Parts of different engines are not one result. */
export function joinValues(part: string, values: readonly unknown[]): unknown {
  if (part === 'engine' && new Set(values).size === 1) return values[0];
  throw new Error(`The part ${part} has the values ${values.map((value) => JSON.stringify(value)).join(', ')}.`);
}

async function playAll(report: BenchOptions['report']) {
  const environment = openBench();
  const tasks = await readTasks();
  const paid = { solve: 0, nothing: 0 };
  for (const task of tasks)
    for (const [name, play] of [
      ['solve', solve],
      ['nothing', doNothing],
    ] as const satisfies readonly [string, Play][]) {
      const { reward } = await playTask(environment, task, play);
      if (reward >= 1) paid[name]++;
      report(`${task.taskId}: ${name} ${reward}`);
    }
  return { tasks: tasks.length, solution_paid: paid.solve, nothing_paid: paid.nothing };
}

/** Attacks do not disturb each other, because each has its own machines. */
async function attackAll(report: BenchOptions['report'], parallel: number) {
  const tried = await inParallel(listAttacks(), parallel, async (name) => {
    const modes = await tryAttack(name, readFileSync(path.join(attacksFolder, name), 'utf8'));
    const paidIn = Object.entries(modes).flatMap(([mode, { isPaid }]) => (isPaid ? [mode] : []));
    report(`attack ${name}: paid ${paidIn.join(', ') || 'never'}`);
    return [name, modes] as const;
  });
  const outcomes = Object.fromEntries(tried);
  return { summary: countAttacks(outcomes), outcomes };
}

/**
 * Counts the attacks that a naive verifier pays, because only they show that a guard is needed. `by_outsiders` of them were
 * written by someone who had not read the code. `others` are those that a naive verifier does not pay either.
 */
export function countAttacks(outcomes: Readonly<Record<string, AttackModes>>) {
  const all = Object.entries(outcomes);
  const works = all.filter(([, { unguarded }]) => unguarded.isPaid);
  const others = all.filter(([, { unguarded }]) => !unguarded.isPaid);
  const paid = (attacks: typeof all, mode: keyof AttackModes): number =>
    attacks.filter(([, modes]) => modes[mode].isPaid).length;
  return {
    tried: works.length,
    by_outsiders: works.filter(([name]) => name.startsWith('outside-')).length,
    paid_unguarded: paid(works, 'unguarded'),
    paid_separate: paid(works, 'separate'),
    paid_shared: paid(works, 'shared'),
    others: { tried: others.length, paid_separate: paid(others, 'separate'), paid_shared: paid(others, 'shared') },
  };
}
