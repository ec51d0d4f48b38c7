import { median } from '../bench/bench.js';
import { medianAbsoluteDeviation } from './statistics.js';

/**
 * The gate decides whether a cell still learns as well and as fast as its baseline. It uses only numbers, so that it
 * can be tested on planted regressions. The baseline is every seed of the last releases. The seeds under test are
 * different ones. The reward of a single step never decides, and no threshold is zero.
 */

/** One run's figures that the gate compares. */
export type GateRun = {
  readonly seed: number;
  /** Success before and after training, 0..1. If nothing is evaluated, it is the end of the training curve. */
  readonly before: number;
  readonly after: number;
  readonly areaUnderCurve: number;
  /** Generated tokens times reference CPU seconds, over the run's CPU seconds; null if speed was not measured. */
  readonly speed: number | null;
};

export type Verdict = { readonly color: 'green' | 'yellow' | 'red'; readonly reasons: readonly string[] };

/** The smallest half width of the band of noise. */
const smallestBand = 0.03;
const deviations = 3;
const slowest = 0.93;
/** Releases without their own baseline stay yellow until there are this many seeds. */
const fewestBaselineSeeds = 3;

type Figure = { readonly name: string; readonly of: (run: GateRun) => number };

const figures: readonly Figure[] = [
  { name: 'success after training', of: ({ after }) => after },
  { name: 'area under the training curve', of: ({ areaUnderCurve }) => areaUnderCurve },
];

const round = (value: number): string => value.toFixed(3);

const gainOf = ({ before, after }: GateRun): number => after - before;

/** Returns how far from the median a value may be and still count as noise. */
const bandOf = (usual: readonly number[]): number =>
  Math.max(smallestBand, deviations * medianAbsoluteDeviation(usual));

function fallenFigures(baseline: readonly GateRun[], runs: readonly GateRun[]): readonly string[] {
  return figures.flatMap(({ name, of }) => {
    const usual = baseline.map(of);
    const band = bandOf(usual);
    const lowest = median(usual) - band;
    const seen = median(runs.map(of));
    if (seen >= lowest) return [];
    return [
      `${name}: median ${round(seen)} of ${runs.length} seeds is below ${round(lowest)} (${round(median(usual))} - ${round(band)})`,
    ];
  });
}

/**
 * Returns the smallest gain that does not count as lost. It is half of the baseline's gain, or less if the gains of the
 * baseline's seeds vary more than that. If the gain is small, half of it is smaller than the difference between seeds.
 */
function leastGain(baseline: readonly GateRun[]): number {
  const usual = baseline.map(gainOf);
  return Math.min(median(usual) / 2, median(usual) - bandOf(usual));
}

/**
 * Returns a reason to call the cell red if at least two of three rounds are slower than 0.93 of the baseline's median
 * ratio. If the ratios of the rounds differ more than that by chance, the limit is lower.
 */
function slowRounds(baseline: readonly GateRun[], runs: readonly GateRun[]): readonly string[] {
  const speeds = (from: readonly GateRun[]): readonly number[] =>
    from.flatMap(({ speed }) => (speed === null ? [] : [speed]));
  const usual = speeds(baseline);
  const seen = speeds(runs);
  if (usual.length === 0 || seen.length < 3) return [];
  const noise = (deviations * medianAbsoluteDeviation(seen)) / median(seen);
  const share = Math.min(slowest, 1 - noise);
  const limit = share * median(usual);
  const slow = seen.filter((speed) => speed < limit);
  if (slow.length * 3 < seen.length * 2) return [];
  return [
    `speed: ${slow.length} of ${seen.length} rounds are below ${round(share)} of the baseline's ratio ${round(median(usual))}`,
  ];
}

/** Returns the reasons to call the cell red that one set of seeds gives. Without reasons, the cell is not red. */
function reasonsAgainst(baseline: readonly GateRun[], runs: readonly GateRun[], mostLost: number): readonly string[] {
  const least = leastGain(baseline);
  const lost = runs.filter((run) => gainOf(run) < least);
  const lostReason = `${lost.length} of ${runs.length} seeds gained less than half of the baseline's gain, and below ${round(least)} (seed ${lost.map(({ seed }) => seed).join(', ')})`;
  return [
    ...fallenFigures(baseline, runs),
    ...(lost.length > mostLost ? [lostReason] : []),
    ...slowRounds(baseline, runs),
  ];
}

/**
 * Returns the verdict on a cell. `run(seeds)` trains with these seeds. It is called once with `seeds` and, if the
 * result looks bad, once more with `moreSeeds`. All seeds together then decide, so that one unlucky seed does not.
 */
export async function judgeCell(options: {
  readonly baseline: readonly GateRun[];
  readonly seeds: readonly number[];
  readonly moreSeeds: readonly number[];
  readonly run: (seeds: readonly number[]) => Promise<readonly GateRun[]>;
}): Promise<Verdict> {
  const { baseline, seeds, moreSeeds, run } = options;
  if (baseline.length < fewestBaselineSeeds)
    return {
      color: 'yellow',
      reasons: [`the baseline has ${baseline.length} seeds; ${fewestBaselineSeeds} are needed`],
    };
  const first = await run(seeds);
  if (reasonsAgainst(baseline, first, 0).length === 0) return { color: 'green', reasons: [] };
  const all = [...first, ...(await run(moreSeeds))];
  const reasons = reasonsAgainst(baseline, all, 1);
  return { color: reasons.length === 0 ? 'green' : 'red', reasons };
}
