/**
 * How much faster is a run that samples ahead of training? It trains the frozen-lake tutorial with max_staleness 0, 1
 * and 2 and the same seeds. It measures the seconds of a step and the success, as the median of several seeds, in two
 * environments. The first environment answers at once. Sampler and trainer of the embedded backbone share the
 * processor, so sampling ahead cannot use any idle time. In the second environment, the agent has to wait, as agents
 * wait for tools. trainer/torch/bench/apart.py measures the same on separate GPUs, which sample and train at the same
 * time.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveSeed } from '@agentjet/core';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { trainLake, type LakeResult } from '../backbones/train-lake.js';
import { median, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';

export const wallTimeOf = 'all cores';

const stalenesses = [0, 1, 2] as const;
const longestWaitMs = 600;

/** Each walk waits before its first move, some longer than others. */
class SlowLakeWorkflow extends FrozenLakeWorkflow {
  override async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    await sleep(deriveSeed(0, tuner.episodeId) % longestWaitMs);
    return super.execute(task, tuner);
  }
}

const worlds = { quick: FrozenLakeWorkflow, slow: SlowLakeWorkflow } as const;
type World = keyof typeof worlds;
type Run = LakeResult & { readonly world: World; readonly maxStaleness: number; readonly seed: number };

export const optionTexts: OptionTexts = {
  '--steps <n>': 'steps of each run; default 30',
  '--seeds <n>': 'runs of each setting; default 2',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const steps = numberOption(args, '--steps', 30);
  const seeds = Array.from({ length: numberOption(args, '--seeds', 2) }, (_, index) => 42 + index);
  const runs: Run[] = [];
  for (const seed of seeds)
    for (const world of ['quick', 'slow'] as const)
      for (const maxStaleness of stalenesses) {
        const result = await trainOnce(steps, { world, maxStaleness, seed });
        runs.push({ world, maxStaleness, seed, ...result });
        report(
          `${world} world, max_staleness ${maxStaleness}, seed ${seed}: ${result.secondsPerStep.toFixed(2)} s a step, success ${result.successAfter}`,
        );
      }
  return {
    summary: { quick_world: tabulate(runs, 'quick'), slow_world: tabulate(runs, 'slow') },
    details: { steps, seeds, longest_wait_ms: longestWaitMs, runs },
  };
}

type Settings = { readonly world: World; readonly maxStaleness: number; readonly seed: number };

async function trainOnce(steps: number, { world, ...trainerCommon }: Settings): Promise<LakeResult> {
  const experimentDir = await mkdtemp(path.join(tmpdir(), 'staleness-'));
  try {
    return await trainLake({ steps, experimentDir, workflow: worlds[world], trainerCommon });
  } finally {
    await rm(experimentDir, { recursive: true, force: true });
  }
}

function tabulate(runs: readonly Run[], world: World) {
  return Object.fromEntries(
    stalenesses.map((maxStaleness) => {
      const own = runs.filter((each) => each.world === world && each.maxStaleness === maxStaleness);
      return [
        `max_staleness_${maxStaleness}`,
        {
          seconds_per_step: median(own.map(({ secondsPerStep }) => secondsPerStep)),
          success_after: median(own.map(({ successAfter }) => successAfter)),
        },
      ];
    }),
  );
}
