import { AgentJetJob, type ConfigInput } from 'agentjet';
import type { Backbone } from '@agentjet/core';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks } from '#tutorial/frozen-lake/lake-tasks.js';

export const lakeContextLength = 2048;
export const lakeLearningRate = 5e-4;

export type LakeOptions = {
  readonly steps: number;
  readonly experimentDir: string;
  /** Defaults to the embedded backbone. */
  readonly backbone?: Backbone;
  /** Defaults to the tutorial's. */
  readonly workflow?: typeof FrozenLakeWorkflow;
  readonly trainerCommon?: ConfigInput['trainerCommon'];
  readonly rollout?: ConfigInput['rollout'];
};

export type LakeResult = {
  /** The same as `successAfter`, if `valBeforeTrain` asks for it. */
  readonly successBefore: number | null;
  /** Greedy success on the tutorial's 100 maps that are never trained on. */
  readonly successAfter: number;
  /** Seconds from the end of the first step to that of the last. */
  readonly secondsPerStep: number;
};

/**
 * Runs the tutorial on the nano model with 16 maps a step and 8 walks each. Errors of single episodes do not end it.
 */
export async function trainLake({
  steps,
  experimentDir,
  backbone,
  workflow = FrozenLakeWorkflow,
  trainerCommon = {},
  rollout = {},
}: LakeOptions): Promise<LakeResult> {
  const job = new AgentJetJob({
    ...(backbone && { backbone }),
    model: 'nano',
    experimentDir,
    experimentName: 'lake',
    numRepeat: 8,
    batchSize: 16,
    config: {
      trainerCommon: {
        totalTrainingSteps: steps,
        valBeforeTrain: false,
        testFreq: steps,
        saveFreq: 0,
        optim: { lr: lakeLearningRate },
        ...trainerCommon,
      },
      rollout,
    },
  })
    .setWorkflow(workflow)
    .setData({
      training: drawTasks('training', { seed: 1, count: 2048 }),
      validation: drawTasks('evaluation', { seed: 1, count: 100 }),
    });
  const ends: number[] = [];
  const { successBefore, successAfter } = await job.tune({
    onEvent: (event) => {
      if (event.type === 'step_finished') ends.push(performance.now());
    },
  });
  if (successAfter === null) throw new Error('The run was not evaluated.');
  return { successBefore, successAfter, secondsPerStep: ((ends.at(-1) ?? 0) - (ends[0] ?? 0)) / 1000 / (steps - 1) };
}
