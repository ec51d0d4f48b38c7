import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Backbone } from '@agentjet/core';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob, type JobEvent, type Task, type Tuner } from 'agentjet';
import { expect, it } from 'vitest';
import { createStillBackbone } from '../bench/faults/still-backbone.js';
import { writeTinyModel } from './support/tiny-model.js';

const steps = 4;
const [numTasks, numRepeat] = [8, 32];

const tasksOf = (count: number) => Array.from({ length: count }, (_, at) => ({ taskId: String(at), mainQuery: 'Hi' }));

/**
 * A job on a model that answers any number of calls in the same time, with episodes of `ms`. `takeMost` returns the
 * largest number of episodes at once since its last call.
 */
async function openJob(ms: number) {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-workers-'));
  const modelDir = path.join(experimentDir, 'model');
  await writeTinyModel(modelDir);
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const engine = createScriptedEngine({ chatTokenizer, replies: [{ text: 'an answer', tokenDelayMs: 0 }] });
  const still = createStillBackbone(engine, modelDir);
  const backbone: Backbone = { ...still, capabilities: { ...still.capabilities, samplesWide: true } };
  let running = 0;
  let most = 0;
  const talk = async (task: Task, tuner: Tuner) => {
    running++;
    most = Math.max(most, running);
    await setTimeout(ms);
    await tuner
      .selectModel({ agentName: 'talker' }, (tuned) => tuned)
      .generate({ messages: [{ role: 'user', content: task.mainQuery }] });
    running--;
    return { reward: tuner.episodeId.length % 2 };
  };
  const job = new AgentJetJob({
    backbone,
    model: modelDir,
    experimentDir,
    numRepeat,
    batchSize: numTasks,
    maxModelLen: 512,
    maxPromptLength: 64,
    maxResponseLength: 64,
    config: { trainerCommon: { valBeforeTrain: false, totalTrainingSteps: steps, saveFreq: 0 } },
  })
    .setWorkflow(talk)
    .setData({ training: tasksOf(numTasks * steps), validation: tasksOf(130) });
  const takeMost = (): number => {
    const taken = most;
    most = 0;
    return taken;
  };
  return { job, takeMost };
}

it('runs more episodes at the same time if the backbone then samples faster, and says so', async () => {
  const { job, takeMost } = await openJob(1000); // is long compared with the time that this process computes
  const most: number[] = [];
  const notices: string[] = [];
  const onEvent = (event: JobEvent): void => {
    if (event.type === 'notice' && event.message.includes('max_env_worker')) notices.push(event.message);
    if (event.type === 'step_finished') most.push(takeMost());
  };
  await job.tune({ onEvent });
  expect(most).toEqual([128, 128, 256, 256]);
  expect(notices).toEqual([
    expect.stringMatching(/^256 episodes at the same time sample [12]\.\d\d times as fast as 128/),
  ]);
});

it.each([
  ['an evaluation', (job: AgentJetJob) => job.evaluate({ onEvent: () => undefined })],
  ['a probe', (job: AgentJetJob) => job.probe({ tasks: 32, temperatures: [], onEvent: () => undefined })],
])('%s runs as many episodes at the same time as the first step', async (_name, run) => {
  const { job, takeMost } = await openJob(400);
  await run(job);
  expect(takeMost()).toBe(128);
});
