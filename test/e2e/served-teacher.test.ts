import path from 'node:path';
import { AgentJetJob, type Task, type Tuner } from 'agentjet';
import type { ChatModel } from '@agentjet/core';
import { lossSubjects } from '@agentjet/trainer/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics } from './support/read-run.js';
import { servePromptLogprobs, type PromptServer } from './support/serve-prompt-logprobs.js';
import { writeTinyModel } from './support/tiny-model.js';

/** A student learns from the same teacher twice: from its folder, and from a server that scores prompts. */

let [student, teacher] = ['', ''];
let server: PromptServer;

beforeAll(async () => {
  const folder = createScratchFolder();
  student = await writeTinyModel(path.join(folder, 'student'));
  teacher = await writeTinyModel(path.join(folder, 'teacher'), 'chatml', 512, 8);
  server = await servePromptLogprobs(teacher);
});
afterAll(() => server.close());

const tasks: readonly Task[] = ['Rain?', 'Snow?'].map((mainQuery, index) => ({
  taskId: `t${index}`,
  mainQuery,
  initMessages: [],
  metadata: {},
}));

async function answer({ mainQuery }: Task, tuner: Tuner): Promise<{ readonly reward: number }> {
  const model = tuner.selectModel<ChatModel>({ agentName: 'a' }, (tuned) => tuned);
  await model.generate({ messages: [{ role: 'user', content: mainQuery }] });
  return { reward: 0 };
}

type Place = { readonly model: string; readonly baseUrl?: string };

/** Resolves with the metrics of each step. */
async function learnFrom(place: Place, backbone: 'onnx' | 'torch') {
  const job = new AgentJetJob({
    config: {
      experimentDir: createScratchFolder(),
      experimentName: 'taught',
      backbone,
      model: { path: student },
      teacher: place,
      data: { trainBatchSize: 2, maxPromptLength: 128, maxResponseLength: 64 },
      rollout: { numRepeat: 2, maxModelLen: 192, maxResponseLengthInOneTurn: 8 },
      trainerCommon: {
        totalTrainingSteps: 3,
        valBeforeTrain: false,
        algorithm: { advEstimator: 'distill' },
        optim: { lr: 0.003 },
      },
      onnx: { numThreads: 1 },
      torch: { dtype: 'float32' },
    },
  });
  const { runDir } = await job
    .setWorkflow(answer)
    .setData({ training: tasks })
    .tune({ onEvent: () => undefined });
  return readMetrics(String(runDir));
}

/** Compares the scores of the first step. Later steps may sample other tokens, because the scores are rounded differently. */
async function compareTeachers(backbone: 'onnx' | 'torch'): Promise<void> {
  const fromFolder = await learnFrom({ model: teacher }, backbone);
  const before = server.numScored();
  const fromServer = await learnFrom({ model: 'large', baseUrl: server.baseUrl }, backbone);
  expect(server.numScored() - before).toBe(1 + 3 * 4); // one row compares the tokens, and then each episode is scored
  const [served, local] = [fromServer, fromFolder].map(([first]) => Number(first?.['teacher_kl']));
  expect(local).toBeGreaterThan(0.1);
  expect(served).toBeCloseTo(local ?? Number.NaN, 4);
  expect(fromServer.at(-1)).toMatchObject({ step: 3, trained_tokens: fromServer.at(-1)?.['generated_tokens'] });
}

describe('a teacher on a server', () => {
  it('teaches what the same model teaches from its folder', () => compareTeachers('onnx'));

  const { missing } = lossSubjects.find(({ name }) => name === 'torch') ?? { missing: 'there is no such backbone' };
  const torchIt = missing === undefined ? longIt : it.skip;
  torchIt(`teaches a student on torch too${missing === undefined ? '' : ` (${missing})`}`, () =>
    compareTeachers('torch'),
  );
});
