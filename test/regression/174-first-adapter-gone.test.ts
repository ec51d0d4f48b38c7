import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, configuration, type Task, type TuneOptions, type Tuner } from 'agentjet';
import { beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from '../e2e/support/job-folder.js';
import { readMetrics } from '../e2e/support/read-run.js';
import { writeTinyModel } from '../e2e/support/tiny-model.js';

/**
 * A run could not be resumed if the folder of `lora.adapter` was gone, although its checkpoint had the adapter. The
 * folder may be a checkpoint of an earlier run, which keeps only its newest ones.
 */

let modelDir: string;
let made: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
  made = (await tune(createScratchFolder(), { adapter: null, steps: 1 })).modelDir ?? '';
});

const policies = { first: { trainableTargets: ['speaker'] }, second: { trainableTargets: ['other'] } };

type Settings = { readonly adapter: string | null; readonly steps: number; readonly isTeam?: boolean };

const training: readonly Task[] = Array.from({ length: 4 }, (_none, index) => ({
  taskId: `t${index}`,
  mainQuery: `Say ${index}.`,
  initMessages: [],
  metadata: {},
}));

async function say({ mainQuery }: Task, tuner: Tuner) {
  let reward = 0;
  for (const agentName of ['speaker', 'other']) {
    const model = tuner.selectModel({ agentName }, (each) => each);
    const { message } = await model.generate({ messages: [{ role: 'user', content: mainQuery }] });
    reward += String(message.content ?? '').length;
  }
  return { reward };
}

function tune(experimentDir: string, { adapter, steps, isTeam = false }: Settings, options: TuneOptions = {}) {
  const config = {
    experimentDir,
    experimentName: 'e',
    model: { path: modelDir },
    data: { trainBatchSize: 2, maxPromptLength: 128, maxResponseLength: 64 },
    rollout: { numRepeat: 4, maxModelLen: 256, maxResponseLengthInOneTurn: 6 },
    trainerCommon: { totalTrainingSteps: steps, valBeforeTrain: false, maxEmptySteps: null, optim: { lr: 0.01 } },
    lora: { rank: 2, adapter },
    onnx: { numThreads: 1 },
    ...(isTeam && { swarm: { policies } }),
  };
  return new AgentJetJob({ config: configuration.create(config) }).setWorkflow(say).setData({ training }).tune(options);
}

it.each([
  ['of one model', false],
  ['of several policies', true],
])('a run %s continues from its checkpoint without the adapter that it began with', async (_name, isTeam) => {
  const folder = createScratchFolder();
  const adapter = path.join(folder, 'adapter');
  cpSync(made, adapter, { recursive: true });
  await tune(folder, { adapter, steps: 1, isTeam });
  rmSync(adapter, { recursive: true });
  const { runDir } = await tune(folder, { adapter, steps: 2, isTeam }, { resume: true });
  for (const each of isTeam ? ['policies/first', 'policies/second'] : ['.'])
    expect(readMetrics(path.join(runDir ?? '', each)).map(({ step }) => step)).toEqual([1, 2]);
});
