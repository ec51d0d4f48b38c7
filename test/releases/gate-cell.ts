import { describeMachine, isSameProcessor } from '../bench/describe-machine.js';
import { cellName, modelNameOf, type Cell } from './cells/cell.js';
import type { CellResult, SeedResult } from './cell-result.js';
import { judgeCell, type Verdict } from './gate.js';
import { describeSeed } from './record-cell.js';
import { hashModel } from './release-identity.js';
import { runSeed } from './run-seed.js';
import { readBaseline, toGateRun } from './store.js';

/**
 * The gate of one cell. If a seed of the baseline gives the same metrics to the last digit, nothing has changed and the
 * cell is green after one run. Otherwise three other seeds are compared with the band of the baseline's seeds.
 */

/**
 * True if the newest result's first seed gives the same run again. Its configuration may have new settings by now, but
 * equal metrics show that they change nothing. If the metrics differ, they may still be as good, so other seeds decide.
 */
async function isUnchanged(cell: Cell, newest: CellResult, say: (line: string) => void): Promise<boolean> {
  const [known] = newest.seeds;
  if (known === undefined || newest.model_sha256 !== hashModel(cell.model)) return false;
  const { result } = await runSeed(cell, known.seed);
  say(describeSeed(cell, result));
  return result.metrics_sha256 === known.metrics_sha256;
}

/** Returns held-out tasks that every seed of the newest release solved and that none of these seeds solves. */
export function newlyFailed(newest: Pick<CellResult, 'seeds'>, seeds: readonly SeedResult[]): readonly string[] {
  const solvedBefore = Object.keys(newest.seeds[0]?.outcomes ?? {}).filter((task) =>
    newest.seeds.every(({ outcomes }) => outcomes[task] === true),
  );
  const failed = solvedBefore.filter((task) => seeds.every(({ outcomes }) => outcomes[task] === false));
  return seeds.length === 0 ? [] : failed.map((task) => describeChange(task, newest.seeds[0], seeds[0]));
}

/**
 * Shows the episode of a task before and now, each from the first seed. Older results say only that the task was
 * solved.
 */
function describeChange(task: string, before: SeedResult | undefined, now: SeedResult | undefined): string {
  const shown = (seed: SeedResult | undefined): string => {
    if (seed?.endings === undefined) return 'solved, but the result is of an older format, without episodes';
    return `${seed.endings[task] ?? 'not in the result'} (seed ${seed.seed})`;
  };
  return `${task}\n    before: ${shown(before)}\n    now:    ${shown(now)}`;
}

export async function gateCell(cell: Cell, say: (line: string) => void): Promise<Verdict> {
  const results = readBaseline({ ...cell, model: modelNameOf(cell) });
  const [newest] = results;
  if (newest === undefined) return { color: 'yellow', reasons: ['no release has a result of it'] };
  if (await isUnchanged(cell, newest, say)) return { color: 'green', reasons: [] };
  const usedSeeds = results.flatMap(({ seeds }) => seeds.map(({ seed }) => seed));
  const free = Math.max(...usedSeeds) + 1;
  const seen: SeedResult[] = [];
  const machine = describeMachine();
  const isTimed = (result: CellResult): boolean => isSameProcessor(result.machine, machine);
  if (!results.some(isTimed))
    say(`${cellName(cell)}: the speed is not compared, because no release was measured on this processor`);
  const verdict = await judgeCell({
    baseline: results.flatMap((result) => result.seeds.map((seed) => toGateRun(seed, isTimed(result)))),
    seeds: [free, free + 1, free + 2],
    moreSeeds: [free + 3, free + 4, free + 5],
    run: async (seeds) => {
      const runs: SeedResult[] = [];
      for (const seed of seeds) {
        const { result } = await runSeed(cell, seed);
        say(describeSeed(cell, result));
        runs.push(result);
      }
      seen.push(...runs);
      return runs.map((run) => toGateRun(run, true));
    },
  });
  const failed = newlyFailed(newest, seen);
  return failed.length === 0
    ? verdict
    : {
        ...verdict,
        reasons: [...verdict.reasons, ...failed.map((task) => `a held-out task now fails with every seed: ${task}`)],
      };
}
