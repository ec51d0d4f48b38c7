import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, configuration, type JobEvent, type Task, type Tuner } from 'agentjet';
import { serveSwarm } from '@agentjet/swarm-server';
import { beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/** How many steps a run makes, and at which learning rates, if some of its steps teach nothing. */

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

const linear = { lr: 0.01, lrSchedulerType: 'linear' } as const;

/** Siblings are rewarded differently, except for those of the first two groups of the run. */
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

/** Steps of two groups of two episodes, over six tasks. */
function createJob({ workflow = createWorkflow(), ...settings }: Settings): AgentJetJob {
  const training = Array.from({ length: 6 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}.` }));
  return new AgentJetJob({ config: createConfig(settings) }).setWorkflow(workflow).setData({ training });
}

const oldRule = expect.stringContaining('counts updates of the weights, not steps, and keeps it') as unknown;

const ratesOf = (runDir: string | null): readonly unknown[] =>
  readMetrics(String(runDir)).map((row) => [row['step'], row['policy_version'], row['learning_rate']]);

it('a run whose groups are refilled makes all steps of its epochs, at the rates of its schedule', async () => {
  const settings = { rollout: { refillGroups: 2 }, trainerCommon: { totalEpochs: 2 } };
  const job = createJob({ experimentDir: createScratchFolder(), ...settings });
  const { runDir } = await job.tune({ onEvent: () => undefined });
  const rows = readMetrics(String(runDir));
  expect(rows.map((row) => row['refilled_groups'] ?? 0)).toEqual([2, 0, 0, 0, 0, 0]);
  expect(rows.map((row) => row['policy_version'])).toEqual([1, 2, 3, 4, 5, 6]);
  rows.forEach((row, index) => expect(row['learning_rate']).toBeCloseTo(0.01 * (1 - index / 6), 12));
});

it('a run that began without rules.json keeps the schedule of its version, and refuses to train a truncated distribution', async () => {
  const experimentDir = createScratchFolder();
  const settings = { experimentDir, trainerCommon: { totalTrainingSteps: 4 }, workflow: createWorkflow() };
  const controller = new AbortController();
  const { runDir } = await createJob(settings).tune({
    signal: controller.signal,
    onEvent: (event) => void (event.type === 'step_finished' && event.step === 2 && controller.abort()),
  });
  rmSync(path.join(String(runDir), 'rules.json'));

  const file = path.join(String(runDir), 'config.yaml');
  const yaml = readFileSync(file, 'utf8');
  writeFileSync(file, yaml.replace(/^( *top_p:) 1$/m, '$1 0.9'));
  const truncated = createJob({ ...settings, rollout: { topP: 0.9 } });
  await expect(truncated.tune({ resume: true, onEvent: () => undefined })).rejects.toMatchObject({
    code: 'resume_mismatch',
    message: expect.stringContaining('rollout.top_p 0.9'),
  });
  writeFileSync(file, yaml);

  const events: JobEvent[] = [];
  await createJob(settings).tune({ resume: true, onEvent: (event) => events.push(event) });
  expect(ratesOf(runDir)).toEqual([
    [1, 0, 0.01],
    [2, 1, 0.0075],
    [3, 2, 0.0075],
    [4, 3, 0.005],
  ]);
  const notices = events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
  expect(notices).toContainEqual(oldRule);
});

it('a served run says the same of its schedule', async () => {
  const settings = { experimentDir: createScratchFolder(), trainerCommon: { totalTrainingSteps: 4 } };
  const config = configuration.create(createConfig(settings));
  const serve = async (): Promise<{ readonly runDir: string; readonly notices: readonly string[] }> => {
    const notices: string[] = [];
    const onNotice = (message: string): void => void notices.push(message);
    const { runDir, close } = await serveSwarm({ config, composition: configuration, onNotice });
    await close();
    return { runDir, notices };
  };
  const { runDir, notices } = await serve();
  expect(notices).not.toContainEqual(oldRule);
  rmSync(path.join(runDir, 'rules.json'));
  expect(await serve()).toMatchObject({ runDir, notices: expect.arrayContaining([oldRule]) as unknown });
});
