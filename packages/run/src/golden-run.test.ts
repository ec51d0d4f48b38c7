import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LossOptions } from '@agentjet/core';
import { createRunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';
import { createGrpo } from '@agentjet/trainer';
import { createTinyTaskBackbone, tinyTaskGroups, withoutSeconds, plainLoss } from '@agentjet/trainer/testing';
import { train, type TrainOptions } from './train.js';

const plain: LossOptions = { ...plainLoss, clipHigh: 0.28 };

/**
 * Returns the lines of metrics.jsonl without seconds. Numbers have nine digits, because further digits may differ
 * between processors.
 */
async function metricsOf(changes: Partial<TrainOptions>): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'golden-'));
  try {
    const run = await createRunFolder({ experimentDir: dir, experimentName: 'golden', configYaml: 'ajet: {}\n' });
    const backbone = createTinyTaskBackbone(1);
    const outcome = await train({
      backbone,
      run,
      source: () => tinyTaskGroups(backbone.engine, { seed: 42, numRepeat: 4 }),
      algorithm: createGrpo(),
      loss: plain,
      packing: { maxPackTokens: 64 },
      groupsPerStep: 4,
      maxSteps: 6,
      ...changes,
    });
    expect(outcome.status).toBe('completed');
    const lines = withoutSeconds(await run.readMetrics()).map((record) =>
      JSON.stringify(record, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(9)) : value)),
    );
    return `${lines.join('\n')}\n`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

// If you change what a step computes, write these files again: npx vitest run packages/run/src/golden-run.test.ts -u
it.each<[string, Partial<TrainOptions>]>([
  ['grpo', {}],
  [
    'every term of the loss, in several optimizer steps',
    { loss: { ...plain, klCoef: 0.05, entropyCoef: 0.01 }, numMiniBatches: 2, numEpochs: 2, whitenAdvantages: true },
  ],
])('a run of the tiny backbone gives the metrics that are kept: %s', async (name, changes) => {
  const file = `golden/${name.replaceAll(/[^a-z]+/g, '-')}.jsonl`;
  await expect(await metricsOf(changes)).toMatchFileSnapshot(file);
});
