import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Backbone } from '@agentjet/core';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob, type Task, type Tuner } from 'agentjet';
import { expect, it, vi } from 'vitest';
import { createStillBackbone } from '../bench/faults/still-backbone.js';
import { writeTinyModel } from './support/tiny-model.js';

vi.setConfig({ testTimeout: 60_000 });

const steps = 4;
const [numTasks, numRepeat] = [8, 32];

/** Trains on a model that answers any number of calls in the same time. Returns the most episodes at once in each step. */
async function train() {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-workers-'));
  const modelDir = path.join(experimentDir, 'model');
  await writeTinyModel(modelDir);
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const engine = createScriptedEngine({ chatTokenizer, replies: [{ text: 'an answer', tokenDelayMs: 0 }] });
  const still = createStillBackbone(engine, modelDir);
  const backbone: Backbone = { ...still, capabilities: { ...still.capabilities, samplesWide: true } };
  const most: number[] = [];
  const notices: string[] = [];
  let running = 0;
  let mostOfStep = 0;
  const talk = async (task: Task, tuner: Tuner) => {
    running++;
    mostOfStep = Math.max(mostOfStep, running);
    await setTimeout(1000); // is long compared with the time that this process computes
    await tuner
      .selectModel({ agentName: 'talker' }, (tuned) => tuned)
      .generate({ messages: [{ role: 'user', content: task.mainQuery }] });
    running--;
    return { reward: tuner.episodeId.length % 2 };
  };
  await new AgentJetJob({
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
    .setData({
      training: Array.from({ length: numTasks * steps }, (_, at) => ({ taskId: String(at), mainQuery: 'Hi' })),
    })
    .tune({
      onEvent: (event) => {
        if (event.type === 'notice') notices.push(event.message);
        if (event.type !== 'step_finished') return;
        most.push(mostOfStep);
        mostOfStep = 0;
      },
    });
  return { most, notices: notices.filter((message) => message.includes('max_env_worker')) };
}

it('runs more episodes at the same time if the backbone then samples faster, and says so', async () => {
  const { most, notices } = await train();
  expect(most).toEqual([128, 128, 256, 256]);
  expect(notices).toEqual([
    expect.stringMatching(/^256 episodes at the same time sample [12]\.\d\d times as fast as 128/),
  ]);
});
