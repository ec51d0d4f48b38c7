/**
 * Sampling that runs ahead of training: the frozen-lake tutorial with max_staleness 0, 1 and 2, the same seeds. Seconds of a
 * step and what was learned, the median of several seeds. On the embedded backbone sampler and trainer share the processor, so
 * running ahead fills only what one of them leaves idle; on separate GPUs they do not (trainer/torch/bench/apart.py).
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { trainLake, type LakeResult } from '../backbones/train-lake.js';
import { median, numberOption, type BenchOptions, type BenchResult } from '../bench.js';

const stalenesses = [0, 1, 2] as const;

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const steps = numberOption(args, '--steps', 30);
  const seeds = Array.from({ length: numberOption(args, '--seeds', 2) }, (_, index) => 42 + index);
  const found = new Map<number, LakeResult[]>(stalenesses.map((each) => [each, []]));
  for (const seed of seeds)
    for (const maxStaleness of stalenesses) {
      const result = await trainOnce(steps, { maxStaleness, seed });
      found.get(maxStaleness)?.push(result);
      report(
        `max_staleness ${maxStaleness}, seed ${seed}: ${result.secondsPerStep.toFixed(2)} s a step, success ${result.successAfter}`,
      );
    }
  const summary = Object.fromEntries([...found].map(([each, results]) => [`max_staleness_${each}`, toRow(results)]));
  return { summary, details: { steps, seeds, runs: Object.fromEntries(found) } };
}

async function trainOnce(
  steps: number,
  trainerCommon: { readonly maxStaleness: number; readonly seed: number },
): Promise<LakeResult> {
  const experimentDir = await mkdtemp(path.join(tmpdir(), 'staleness-'));
  try {
    return await trainLake({ steps, experimentDir, trainerCommon });
  } finally {
    await rm(experimentDir, { recursive: true, force: true });
  }
}

function toRow(results: readonly LakeResult[]) {
  return {
    seconds_per_step: median(results.map(({ secondsPerStep }) => secondsPerStep)),
    success_after: median(results.map(({ successAfter }) => successAfter)),
  };
}
