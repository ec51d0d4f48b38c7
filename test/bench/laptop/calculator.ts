import path from 'node:path';
import { root } from '../../releases/run-node.js';
import type { BenchOptions } from '../bench.js';
import { median } from '../bench.js';
import { runTraining, type Training } from '../real/run-training.js';

/** The calculator agent of tutorial/real-model, with an adapter over int8 weights and with full weights. */
export async function measureCalculator({
  report,
  numSeeds,
}: Pick<BenchOptions, 'report'> & { readonly numSeeds: number }): Promise<Readonly<Record<string, unknown>>> {
  const conf = path.join(root, 'tutorial/real-model/real_model.yaml');
  const adapted = [
    'lora.rank=16',
    'onnx.frozen_weights=int8',
    'trainer_common.tis_cap=2',
    'trainer_common.optim.lr=auto',
  ];
  const [withAdapter, withAll]: [Training[], Training[]] = [[], []];
  for (let seed = 1; seed <= numSeeds; seed++) {
    const overrides = [`trainer_common.seed=${seed}`];
    withAdapter.push(await runTraining({ conf, cwd: root, report, overrides: [...overrides, ...adapted] }));
    withAll.push(await runTraining({ conf, cwd: root, report, overrides }));
    report(`seed ${seed}: ${JSON.stringify([withAdapter.at(-1)?.after, withAll.at(-1)?.after])}`);
  }
  const successes = (trainings: readonly Training[]): readonly number[] => trainings.map(({ after }) => after.success);
  return {
    before: withAdapter.map(({ before }) => before.success),
    after: successes(withAdapter),
    after_full: successes(withAll),
    minutes: median(withAdapter.map(({ minutes }) => minutes)),
    minutes_full: median(withAll.map(({ minutes }) => minutes)),
    peak_gib: Math.max(...withAdapter.map(({ peakGib }) => peakGib)),
    peak_gib_full: Math.max(...withAll.map(({ peakGib }) => peakGib)),
    load: withAdapter.map(({ load }) => load),
  };
}
