import { rmSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, configuration, type Task, type Tuner } from 'agentjet';
import { serveSwarm } from '@agentjet/swarm-server';
import { beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/** Checks the number of steps and the learning rates of a run in which some steps train nothing. */

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

const linear = { lr: 0.01, lrSchedulerType: 'linear' } as const;

/** Rewards siblings differently, except for those of the first two groups of the run. */
function createWorkflow() {
  let numBegun = 0;
  const numEnded = new Map<string, number>();
  return async ({ taskId, mainQuery }: Task, tuner: Tuner): Promise<{ readonly reward: number }> => {
    const isAlike = numBegun++ < 4;
    const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
    await model.generate({ messages: [{ role: 'user', content: mainQuery }] });
    const place = numEnded.get(taskId) ?? 0;
    numEnded.set(taskId, place + 1);
    return { reward: isAlike ? 1 : place % 2 };
  };
}

type Settings = {
  readonly experimentDir: string;
  readonly rollout?: { readonly refillGroups?: number; readonly topP?: number };
  readonly trainerCommon?: { readonly totalEpochs?: number; readonly totalTrainingSteps?: number };
  readonly workflow?: ReturnType<typeof createWorkflow>;
};

const createConfig = ({ experimentDir, rollout, trainerCommon }: Settings) => ({
  experimentDir,
  experimentName: 'schedule',
  model: { path: modelDir },
  data: { trainBatchSize: 2, maxPromptLength: 128, maxResponseLength: 64 },
  rollout: { numRepeat: 2, maxModelLen: 256, maxResponseLengthInOneTurn: 8, ...rollout },
  trainerCommon: { saveFreq: 0, valBeforeTrain: false, optim: linear, ...trainerCommon },
  onnx: { numThreads: 1 },
});

/** Makes steps of two groups of two episodes, over six tasks. */
function createJob({ workflow = createWorkflow(), ...settings }: Settings): AgentJetJob {
  const training = Array.from({ length: 6 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}.` }));
  return new AgentJetJob({ config: createConfig(settings) }).setWorkflow(workflow).setData({ training });
}

it('a run whose groups are refilled makes all steps of its epochs, at the rates of its schedule', async () => {
  const settings = { rollout: { refillGroups: 2 }, trainerCommon: { totalEpochs: 2 } };
  const job = createJob({ experimentDir: createScratchFolder(), ...settings });
  const { runDir } = await job.tune({ onEvent: () => undefined });
  const rows = readMetrics(String(runDir));
  expect(rows.map((row) => row['refilled_groups'] ?? 0)).toEqual([2, 0, 0, 0, 0, 0]);
  expect(rows.map((row) => row['policy_version'])).toEqual([1, 2, 3, 4, 5, 6]);
  rows.forEach((row, index) => expect(row['learning_rate']).toBeCloseTo(0.01 * (1 - index / 6), 12));
});

it('a run of an older version, which has no rules.json, is refused by name, also by a server', async () => {
  const settings = { experimentDir: createScratchFolder(), trainerCommon: { totalTrainingSteps: 2 } };
  const { runDir } = await createJob(settings).tune({ onEvent: () => undefined });
  rmSync(path.join(String(runDir), 'rules.json'));
  const refusal = {
    code: 'older_format',
    message: expect.stringMatching(/The run .* was written in an older format.* commit e2a79bc1, or begin a new run/),
  };
  const more = createJob({ ...settings, trainerCommon: { totalTrainingSteps: 4 } });
  await expect(more.tune({ resume: true, onEvent: () => undefined })).rejects.toMatchObject(refusal);
  const served = { ...settings, experimentDir: createScratchFolder() };
  const config = configuration.create(createConfig(served));
  const serve = () => serveSwarm({ config, composition: configuration, onNotice: () => undefined });
  const { runDir: servedDir, close } = await serve();
  await close();
  rmSync(path.join(servedDir, 'rules.json'));
  await expect(serve()).rejects.toMatchObject(refusal);
});
