import path from 'node:path';
import { root } from '../../releases/run-node.js';
import type { BenchOptions } from '../bench.js';
import { median } from '../bench.js';
import { runTraining, type Training } from '../real/run-training.js';

/** One seed of the calculator agent of tutorial/real-model, with an adapter over int8 weights and with full weights. */
type Row = {
  readonly seed: number;
  readonly before: number;
  readonly after: number;
  readonly after_full: number;
  readonly minutes: number;
  readonly minutes_full: number;
  readonly peak_gib: number;
  readonly peak_gib_full: number;
  readonly load: readonly number[];
};

const conf = path.join(root, 'tutorial/real-model/real_model.yaml');
const adapted = [
  'lora.rank=16',
  'onnx.frozen_weights=int8',
  'trainer_common.tis_cap=2',
  'trainer_common.optim.lr=auto',
];

export async function measureCalculator(
  report: BenchOptions['report'],
  { firstSeed, numSeeds }: { readonly firstSeed: number; readonly numSeeds: number },
): Promise<ReturnType<typeof summarizeSeeds>> {
  const rows: Row[] = [];
  for (let seed = firstSeed; seed < firstSeed + numSeeds; seed++) {
    const overrides = [`trainer_common.seed=${seed}`];
    const withAdapter = await runTraining({ conf, cwd: root, report, overrides: [...overrides, ...adapted] });
    const withAll = await runTraining({ conf, cwd: root, report, overrides });
    rows.push(toRow(seed, withAdapter, withAll));
    report(`seed ${seed}: ${JSON.stringify(rows.at(-1))}`);
  }
  return summarizeSeeds(rows);
}

function toRow(seed: number, withAdapter: Training, withAll: Training): Row {
  return {
    seed,
    before: withAdapter.before.success,
    after: withAdapter.after.success,
    after_full: withAll.after.success,
    minutes: withAdapter.minutes,
    minutes_full: withAll.minutes,
    peak_gib: withAdapter.peakGib,
    peak_gib_full: withAll.peakGib,
    load: withAdapter.load,
  };
}

/** Minutes are medians of the seeds, and peaks are the highest of all. */
function summarizeSeeds(rows: readonly Row[]) {
  const seeds = rows.toSorted((left, right) => left.seed - right.seed);
  return {
    after: seeds.map(({ after }) => after),
    after_full: seeds.map(({ after_full: after }) => after),
    minutes: median(seeds.map(({ minutes }) => minutes)),
    minutes_full: median(seeds.map(({ minutes_full: minutes }) => minutes)),
    peak_gib: Math.max(...seeds.map(({ peak_gib: peak }) => peak)),
    peak_gib_full: Math.max(...seeds.map(({ peak_gib_full: peak }) => peak)),
    seeds,
  };
}

/** Joins results that have some seeds each. */
export function joinCalculators(values: readonly unknown[]): ReturnType<typeof summarizeSeeds> {
  return summarizeSeeds(values.flatMap((value) => (value as ReturnType<typeof summarizeSeeds>).seeds));
}
