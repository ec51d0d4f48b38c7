import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder } from '@agentjet/run-folder';
import { train } from '@agentjet/run';
import { createGrpo } from '@agentjet/trainer';
import type { GateRun } from '../gate.js';
import { mean } from '../statistics.js';
import { createCueBackbone, cueGroups } from './cue-task.js';
import { plainLoss } from '@agentjet/trainer/testing';

/**
 * The smallest cell: the tiny model learns the cue task through the real loop, credit and packing, in less than a
 * second. The gate is tested with this cell and planted regressions.
 */

/**
 * Steps of a run. `before` and `after` are means over as many tasks at its two ends, so that single steps do not
 * decide.
 */
const numSteps = 40;
const numEndSteps = 8;

/**
 * Trains from random weights. `before` and `after` are the mean reward of the first and last steps, which is the share
 * of right tokens, 0..1.
 */
export async function runTinyCell(seed: number): Promise<GateRun> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'tiny-cell-'));
  const backbone = createCueBackbone(seed);
  try {
    const run = await createRunFolder({ experimentDir: scratch, experimentName: 'tiny', configYaml: 'ajet: {}\n' });
    const outcome = await train({
      backbone,
      source: () => cueGroups(backbone.engine, { seed, numRepeat: 6 }),
      run,
      algorithm: createGrpo(),
      loss: plainLoss,
      packing: { maxPackTokens: 64 },
      groupsPerStep: 8,
      maxSteps: numSteps,
    });
    if (outcome.status === 'failed') throw outcome.error;
    const rewards = (await run.readMetrics()).map((step) => Number(step['reward_mean']));
    return {
      seed,
      before: mean(rewards.slice(0, 2)),
      after: mean(rewards.slice(-numEndSteps)),
      areaUnderCurve: mean(rewards),
      speed: null,
    };
  } finally {
    await backbone.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
