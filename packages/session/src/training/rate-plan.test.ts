import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createRunFolder, openRunFolder } from '@agentjet/run-folder';
import { describe, expect, it } from 'vitest';
import { createConfig } from '../testing/test-composition.js';
import { describeOldRule, rateAt, toRatePlan } from './rate-plan.js';

const linear = { trainerCommon: { optim: { lr: 1, lrSchedulerType: 'linear' as const } } };

describe('the learning rate of a step', () => {
  it('follows the steps of the loop, of which each second one trained nothing', () => {
    const plan = toRatePlan(createConfig(linear), 8, { schedule: 'loop_steps' });
    const rates = [1, 3, 5, 7].map((step, made) => rateAt(plan, { step, index: 0, policyVersion: made }));
    expect(rates).toEqual([1, 0.75, 0.5, 0.25]);
  });

  it('follows the updates in a run that began with the old rule, and the run hears of it', () => {
    const plan = toRatePlan(createConfig(linear), 8, { schedule: 'optimizer_steps' });
    const rates = [1, 3, 5, 7].map((step, made) => rateAt(plan, { step, index: 0, policyVersion: made }));
    expect(rates).toEqual([1, 0.875, 0.75, 0.625]);
    expect(describeOldRule(plan)).toContain('counts updates of the weights, not steps, and keeps it');
    expect(describeOldRule({ ...plan, schedule: 'loop_steps' })).toBeUndefined();
    expect(describeOldRule(toRatePlan(createConfig({}), 8, { schedule: 'optimizer_steps' }))).toBeUndefined();
  });

  it('moves within a step of several optimizer steps, to the same place whether or not all of them were made', () => {
    const several = { trainerCommon: { ...linear.trainerCommon, miniBatchNum: 2, ppoEpochs: 2 } };
    const plan = toRatePlan(createConfig(several), 2, { schedule: 'loop_steps' });
    const rates = [0, 1, 2, 3].map((index) => rateAt(plan, { step: 2, index, policyVersion: 1 }));
    expect(rates).toEqual([0.5, 0.375, 0.25, 0.125]);
  });
});

it('a new run folder says that its schedule counts steps, and one of an older version that it counts updates', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'ajet-rules-'));
  const folder = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
  expect(await (await openRunFolder(folder.dir)).readRules()).toEqual({ schedule: 'loop_steps' });
  await rm(path.join(folder.dir, 'rules.json'));
  expect(await (await openRunFolder(folder.dir)).readRules()).toEqual({ schedule: 'optimizer_steps' });
  await folder.close();
  await rm(dir, { recursive: true });
});
